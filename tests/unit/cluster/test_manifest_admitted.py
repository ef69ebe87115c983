"""The golden Volcano Jobs pass the field checks of a Kubernetes API server and Volcano's webhooks (simulated)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from app.simulator.cluster import SimulatedCluster, SimulatorSettings

GOLDEN = Path(__file__).parents[2] / "data" / "manifests"
MANIFESTS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(GOLDEN.glob("*.yaml"))}
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/team-nlp/jobs"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}


@pytest.fixture
async def volcano() -> AsyncIterator[aiohttp.ClientSession]:
    """A simulated cluster with the team's namespace and an open queue."""
    async with (
        SimulatedCluster(SimulatorSettings(nodes=1, speed=20, schedule_period_seconds=0.1)) as cluster,
        aiohttp.ClientSession(cluster.url, timeout=aiohttp.ClientTimeout(total=20)) as session,
    ):
        for path, body in (
            ("/api/v1/namespaces", {"metadata": {"name": "team-nlp"}}),
            (QUEUES, {**QUEUE, "metadata": {"name": "q-nlp"}, "spec": {"weight": 1}}),
        ):
            async with session.post(path, json=body) as answer:
                assert answer.status == 201, await answer.text()
        async with asyncio.timeout(20):
            while not await _is_open(session):  # noqa: ASYNC110 - a status behind HTTP has no event
                await asyncio.sleep(0.02)
        yield session


async def _is_open(session: aiohttp.ClientSession) -> bool:
    async with session.get(f"{QUEUES}/q-nlp") as answer:
        queue: dict[str, Any] = await answer.json()
        return bool(queue.get("status", {}).get("state") == "Open")


@pytest.mark.parametrize("name", list(MANIFESTS))
async def test_is_admitted_as_it_stands(volcano: aiohttp.ClientSession, name: str) -> None:
    manifest = MANIFESTS[name]
    async with volcano.post(JOBS, json=manifest, params={"fieldValidation": "Strict"}) as answer:
        stored = await answer.json()
        assert answer.status == 201, stored
    spec = manifest["spec"]
    assert stored["metadata"]["finalizers"] == ["pumice.dev/recorded"]
    # nothing was left for the webhooks to fill in
    for field in ("queue", "minAvailable", "maxRetry", "schedulerName", "minSuccess", "policies", "plugins"):
        assert stored["spec"].get(field) == spec.get(field), field
    for task, stored_task in zip(spec["tasks"], stored["spec"]["tasks"], strict=True):
        assert (stored_task["name"], stored_task["minAvailable"]) == (task["name"], task["minAvailable"])
