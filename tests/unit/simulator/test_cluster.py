"""The cluster as a whole."""

import asyncio
import stat
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
import yaml

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.kinds import DEPLOYMENT, JOB, NAMESPACE, NODE, PRIORITY_CLASS
from app.simulator.objects import Object

LIMIT_SECONDS = 30


def job(seconds: int) -> Object:
    resources = {"limits": {"nvidia.com/gpu": "1"}}
    container = {"name": "main", "image": "registry.test/llm:1", "command": ["sleep", str(seconds)]}
    template = {"spec": {"restartPolicy": "Never", "containers": [{**container, "resources": resources}]}}
    tasks = [{"name": "worker", "replicas": 2, "template": template}]
    return {"metadata": {"name": "a", "namespace": "default"}, "spec": {"minAvailable": 2, "tasks": tasks}}


async def until(cluster: SimulatedCluster, holds: Callable[[Object], bool]) -> Object:
    async with asyncio.timeout(LIMIT_SECONDS):
        async for event in cluster.objects.watch(JOB):
            if holds(event.object):
                return event.object
    raise AssertionError


def is_in(phase: str) -> Callable[[Object], bool]:
    return lambda obj: obj.get("status", {}).get("state", {}).get("phase") == phase


async def test_a_running_job_outlives_a_restart(tmp_path: Path) -> None:
    settings = SimulatorSettings(speed=20, data_path=tmp_path)
    async with SimulatedCluster(settings) as cluster:
        await cluster.objects.create(JOB, job(60))
        running = await until(cluster, is_in("Running"))
    async with SimulatedCluster(settings) as cluster:
        done = await until(cluster, is_in("Completed"))
    assert done["metadata"]["uid"] == running["metadata"]["uid"]
    assert done["status"].get("retryCount", 0) == 0


async def test_what_stands_in_a_new_cluster() -> None:
    async with SimulatedCluster(SimulatorSettings(nodes=2, gpus_per_node=4, volcano=False)) as cluster:
        nodes = await cluster.objects.list(NODE)
        assert [node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes] == ["4", "4"]
        assert all(node["metadata"]["labels"]["pumice.dev/simulated"] == "true" for node in nodes)
        namespaces = {item["metadata"]["name"] for item in await cluster.objects.list(NAMESPACE)}
        assert {"default", "kube-system", "kube-public", "volcano-system"} <= namespaces
        for deployment in await cluster.objects.list(DEPLOYMENT, "volcano-system"):
            assert deployment["status"]["readyReplicas"] == 1
            assert deployment["metadata"]["labels"]["pumice.dev/simulated"] == "true"
        values = {item["metadata"]["name"]: item["value"] for item in await cluster.objects.list(PRIORITY_CLASS)}
        assert values["low"] < 0 < values["high"] < values["system-cluster-critical"]


async def test_other_gpus() -> None:
    settings = SimulatorSettings(nodes=1, gpu_resource="amd.com/gpu", volcano=False)
    async with SimulatedCluster(settings) as cluster:
        (node,) = await cluster.objects.list(NODE)
        assert node["status"]["capacity"]["amd.com/gpu"] == "2"
        assert node["metadata"]["labels"]["amd.com/gpu.product"] == "SIMULATED"


async def test_the_kubeconfig_is_for_its_owner_only(tmp_path: Path) -> None:
    async with SimulatedCluster(SimulatorSettings(nodes=0, token="right", volcano=False)) as cluster:
        path = cluster.kubeconfig(tmp_path / "config")
        config = yaml.safe_load(path.read_text())
        assert config["clusters"][0]["cluster"]["server"] == cluster.url
        assert config["users"][0]["user"]["token"] == "right"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_port_that_is_taken_is_said() -> None:
    async with SimulatedCluster(SimulatorSettings(nodes=0, volcano=False)) as first:
        port = int(first.url.rpartition(":")[2])
        with pytest.raises(OSError, match="address already in use"):
            async with SimulatedCluster(SimulatorSettings(nodes=0, port=port, volcano=False)):
                raise AssertionError


async def test_open_watches_do_not_hold_the_end_up() -> None:
    async with aiohttp.ClientSession() as session:
        async with SimulatedCluster(SimulatorSettings(nodes=0, volcano=False)) as cluster:
            answer = await session.get(f"{cluster.url}/api/v1/pods?watch=1")
            assert answer.status == 200
        async with asyncio.timeout(LIMIT_SECONDS):
            assert await answer.read() == b""


async def test_a_part_that_dies_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    async def dies(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("app.simulator.cluster.run_volcano", dies)
    async with SimulatedCluster() as cluster, asyncio.timeout(LIMIT_SECONDS):
        done, _ = await asyncio.wait(cluster.parts, return_when=asyncio.FIRST_COMPLETED)
        assert [task.get_name() for task in done] == ["volcano"]
