"""The life of pods on simulated nodes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.kinds import EVENT, NODE, POD
from app.simulator.objects import ApiError, Object
from app.simulator.pod_life import PREFIX

LIMIT_SECONDS = 20


@pytest.fixture
async def cluster() -> AsyncIterator[SimulatedCluster]:
    async with SimulatedCluster(SimulatorSettings(nodes=2, speed=50, volcano=False)) as cluster:
        yield cluster


def pod(command: list[str], policy: str = "Never", finalizers: list[str] | None = None, **annotations: str) -> Object:
    named = {PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}
    container = {"name": "main", "image": "registry.test/llm:1", "command": command}
    metadata = {"name": "p", "namespace": "default", "annotations": named, "finalizers": finalizers or []}
    return {"metadata": metadata, "spec": {"containers": [container], "restartPolicy": policy}}


async def start(cluster: SimulatedCluster, obj: Object, node: str = "gpu-1") -> None:
    await cluster.objects.create(POD, obj)
    await cluster.objects.bind("default", "p", node)


async def until(cluster: SimulatedCluster, holds: Callable[[Object], bool]) -> Object:
    async with asyncio.timeout(LIMIT_SECONDS):
        async for event in cluster.objects.watch(POD):
            if event.type != "DELETED" and holds(event.object):
                return event.object
    raise AssertionError


async def until_gone(cluster: SimulatedCluster) -> Object:
    async with asyncio.timeout(LIMIT_SECONDS):
        async for event in cluster.objects.watch(POD):
            if event.type == "DELETED":
                return event.object
    raise AssertionError


def phase(name: str) -> Callable[[Object], bool]:
    return lambda obj: obj["status"]["phase"] == name


def waits_for(reason: str) -> Callable[[Object], bool]:
    return lambda obj: any(
        status["state"].get("waiting", {}).get("reason") == reason
        for status in obj["status"].get("containerStatuses", ())
    )


def condition(obj: Object, name: str) -> str:
    return next(c["status"] for c in obj["status"]["conditions"] if c["type"] == name)


async def test_a_pod_runs_and_succeeds(cluster: SimulatedCluster) -> None:
    phases: list[str] = []
    await start(cluster, pod(["sleep", "10"]))

    def ended(obj: Object) -> bool:
        phases.append(obj["status"]["phase"])
        return obj["status"]["phase"] == "Succeeded"

    done = await until(cluster, ended)
    assert list(dict.fromkeys(phases)) == ["Pending", "Running", "Succeeded"]
    status = done["status"]["containerStatuses"][0]
    assert status["state"]["terminated"]["exitCode"] == 0
    assert status["state"]["terminated"]["reason"] == "Completed"
    assert status["state"]["terminated"]["startedAt"] <= status["state"]["terminated"]["finishedAt"]
    assert done["status"]["podIP"].startswith("10.")
    assert done["status"]["startTime"]
    assert condition(done, "PodScheduled") == "True"
    reasons = {event["reason"] for event in await cluster.objects.list(EVENT, "default")}
    assert {"Created", "Started"} <= reasons


async def test_a_running_pod_is_ready(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sleep", "infinity"]))
    running = await until(cluster, phase("Running"))
    for name in ("Initialized", "Ready", "ContainersReady", "PodScheduled"):
        assert condition(running, name) == "True"


async def test_an_exit_code_fails_the_pod(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sh", "-c", "sleep 1; exit 3"]))
    failed = await until(cluster, phase("Failed"))
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "Error"


async def test_out_of_memory(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sleep", "60"], oom="1"))
    failed = await until(cluster, phase("Failed"))
    state = failed["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (137, "OOMKilled")


async def test_an_image_that_cannot_be_pulled_keeps_the_pod_pending(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sleep", "1"], image_pull="ImagePullBackOff"))
    waiting = await until(cluster, waits_for("ImagePullBackOff"))
    assert waiting["status"]["phase"] == "Pending"
    await cluster.objects.delete(POD, "default", "p")
    await until_gone(cluster)


async def test_containers_are_restarted_in_place(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["exit", "1"], policy="OnFailure"))
    await until(cluster, waits_for("CrashLoopBackOff"))
    again = await until(
        cluster, lambda obj: obj["status"].get("containerStatuses", [{}])[0].get("restartCount", 0) >= 2
    )
    assert again["status"]["phase"] == "Running"
    assert again["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1


async def test_on_failure_ends_with_success(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sleep", "1"], policy="OnFailure"))
    await until(cluster, phase("Succeeded"))


async def test_a_deleted_pod_ends_at_once(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sleep", "infinity"]))
    running = await until(cluster, phase("Running"))
    await cluster.objects.delete(POD, "default", "p", uid=running["metadata"]["uid"])
    marked = await until(cluster, lambda obj: "deletionTimestamp" in obj["metadata"])
    assert marked["metadata"]["deletionGracePeriodSeconds"] in (30, 0)
    last = await until_gone_or_missing(cluster)
    assert last is None or last["metadata"]["deletionGracePeriodSeconds"] == 0


async def until_gone_or_missing(cluster: SimulatedCluster) -> Object | None:
    try:
        await cluster.objects.get(POD, "default", "p")
    except ApiError:
        return None
    return await until_gone(cluster)


async def test_a_pod_that_ignores_sigterm_holds_its_grace_period() -> None:
    async with SimulatedCluster(SimulatorSettings(nodes=1, speed=1, volcano=False)) as cluster:
        await start(cluster, pod(["sleep", "infinity"], start_seconds="0", ignore_sigterm="true"))
        await until(cluster, phase("Running"))
        await cluster.objects.delete(POD, "default", "p", grace_period_seconds=600)
        await until(cluster, lambda obj: "deletionTimestamp" in obj["metadata"])
        for _ in range(20):
            await asyncio.sleep(0)
        held = await cluster.objects.get(POD, "default", "p")
        assert held["metadata"]["deletionGracePeriodSeconds"] == 600
        await cluster.objects.delete(POD, "default", "p", grace_period_seconds=0)
        assert await until_gone_or_missing(cluster) is None


async def test_a_pod_marked_failed_by_hand_stays_failed(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sleep", "20"]))
    await until(cluster, phase("Running"))
    await cluster.objects.patch(POD, "default", "p", {"status": {"phase": "Failed"}}, "status")
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            if cluster.kubelet.busy == 0:
                break
            await asyncio.sleep(0.01)
    assert (await cluster.objects.get(POD, "default", "p"))["status"]["phase"] == "Failed"


async def test_a_lost_node_keeps_its_pods_until_they_are_evicted(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sleep", "20"]))
    await until(cluster, phase("Running"))
    await cluster.faults.lose_node("gpu-1", evict_after_seconds=60)
    node = await cluster.objects.get(NODE, None, "gpu-1")
    assert [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"] == ["Unknown"]
    assert node["spec"]["taints"]
    last = await until_gone(cluster)
    assert last["status"]["phase"] == "Running"


async def test_a_node_that_comes_back_goes_on(cluster: SimulatedCluster) -> None:
    await start(cluster, pod(["sleep", "20"]))
    await until(cluster, phase("Running"))
    await cluster.faults.lose_node("gpu-1")
    await cluster.faults.restore_node("gpu-1")
    await until(cluster, phase("Succeeded"))
    node = await cluster.objects.get(NODE, None, "gpu-1")
    assert "taints" not in node["spec"]


async def test_jobs_go_on_after_a_restart_with_the_same_data(tmp_path: Path) -> None:
    settings = SimulatorSettings(nodes=1, speed=50, volcano=False, data_path=tmp_path)
    async with SimulatedCluster(settings) as cluster:
        await start(cluster, pod(["sleep", "100"]))
        running = await until(cluster, phase("Running"))
    async with SimulatedCluster(settings) as cluster:
        restored = await cluster.objects.get(POD, "default", "p")
        assert restored["metadata"]["uid"] == running["metadata"]["uid"]
        done = await until(cluster, phase("Succeeded"))
        assert done["status"]["containerStatuses"][0]["restartCount"] == 0


async def steps(cluster: SimulatedCluster, obj: Object) -> list[str]:
    """Every progress that the pod writes until it ends."""
    seen: list[str] = []
    async with asyncio.timeout(LIMIT_SECONDS):
        async for event in cluster.objects.watch(POD):
            written = event.object["metadata"].get("annotations", {}).get("pumice.dev/progress")
            if written and written not in seen[-1:]:
                seen.append(written)
            if event.object["status"]["phase"] in ("Succeeded", "Failed"):
                return seen
            if not event.object["spec"].get("nodeName"):
                await cluster.objects.bind("default", "p", "gpu-1")
    raise AssertionError


@pytest.mark.parametrize(("command", "last"), [("sleep 20", 4), ("sleep 20; exit 1", 3)])
async def test_a_worker_counts_its_steps(cluster: SimulatedCluster, command: str, last: int) -> None:
    await cluster.objects.create(POD, obj := pod(["sh", "-c", command], progress_steps="4"))
    assert await steps(cluster, obj) == [f"{step}/4" for step in range(last + 1)]
