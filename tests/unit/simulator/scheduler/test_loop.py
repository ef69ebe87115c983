"""The scheduler on an API server in memory."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from app.simulator.kinds import NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, Kind
from app.simulator.volcano.scheduler_loop import run_scheduler
from app.simulator.volcano.settings import VolcanoSettings
from tests.unit.simulator.scheduler.loop_scene import (
    GPU,
    ODD_CLASS,
    Scene,
    allocated_gpus,
)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    """A scene whose scheduler runs."""
    built = Scene()
    await built.prepare()
    task = asyncio.create_task(run_scheduler(built.objects, built.clock, VolcanoSettings(seed=3)))
    yield built
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_job_is_enqueued_bound_and_running(scene: Scene) -> None:
    """Although the API server does not answer the scheduler's first lists."""
    await scene.group("a", minimum=2, gpus=2)
    await scene.phase_becomes("a", "Inqueue")
    for name in ("a-0", "a-1"):
        await scene.pod(name, "a", gpus=1)
    for name in ("a-0", "a-1"):
        pod = await scene.until(POD, name, lambda pod: pod["spec"].get("nodeName"))
        assert pod["spec"]["nodeName"] in ("gpu-1", "gpu-2")
    await scene.phase_becomes("a", "Running")
    for name in ("a-0", "a-1"):
        await scene.start_pod(name)
    group = await scene.until(POD_GROUP, "a", lambda group: group["status"].get("running") == 2)
    assert [condition["type"] for condition in group["status"]["conditions"]] == ["Scheduled"]
    queue = await scene.until(QUEUE, "q", lambda queue: allocated_gpus(queue) == "2")
    assert queue["status"] == {
        "state": "Open",
        "reservation": {},
        "allocated": {"cpu": "2", "memory": "0", GPU: "2", "pods": "2"},
    }
    await scene.until(QUEUE, "root", lambda queue: allocated_gpus(queue) == "2")
    assert "pod group is ready" in await scene.messages("a")
    assert scene.objects.list_failures == 0


async def test_nothing_happens_while_nothing_changes(scene: Scene) -> None:
    await scene.group("big", minimum=9, gpus=9)
    await scene.phase_becomes("big", "Pending")
    await scene.periods(4)
    before = await scene.messages("big")
    await scene.periods(4)
    assert await scene.messages("big") == before
    heartbeat = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-08-20T10:00:00Z"}]
    await scene.objects.patch(NODE, None, "gpu-1", {"status": {"conditions": heartbeat}}, "status")
    await scene.periods(4)
    assert await scene.messages("big") == before
    await scene.objects.patch(NODE, None, "gpu-1", {"status": {"allocatable": {GPU: "8"}}}, "status")
    await scene.phase_becomes("big", "Inqueue")


async def test_failed_binding_is_told_and_tried_again(scene: Scene) -> None:
    scene.objects.bind_failures = 1
    await scene.group("a", minimum=1, gpus=1)
    await scene.phase_becomes("a", "Inqueue")
    await scene.pod("a-0", "a", gpus=1)
    pod = await scene.until(POD, "a-0", lambda pod: pod["status"].get("conditions"))
    condition = pod["status"]["conditions"][0]
    assert condition["reason"] == "SchedulerError"
    assert re.fullmatch(r"failed to bind to node gpu-[12]: the node is on fire", condition["message"])
    await scene.until(POD, "a-0", lambda pod: pod["spec"].get("nodeName"))


async def test_binding_that_no_watch_has_shown_yet_is_not_repeated(scene: Scene) -> None:
    scene.objects.hides_binds = True
    await scene.group("a", minimum=1, gpus=1)
    await scene.phase_becomes("a", "Inqueue")
    await scene.pod("a-0", "a", gpus=1)
    await scene.until(QUEUE, "q", lambda queue: allocated_gpus(queue) == "1")
    await scene.group("b", minimum=1, gpus=1)
    await scene.phase_becomes("b", "Inqueue")
    await scene.periods(3)
    assert scene.objects.binds == 1
    assert allocated_gpus(await scene.objects.get(QUEUE, None, "q")) == "1"


@pytest.mark.parametrize("kind", [QUEUE, POD_GROUP], ids=lambda kind: kind.name)
async def test_conflicts_are_overcome_by_the_next_session(scene: Scene, kind: Kind) -> None:
    scene.objects.conflicts[kind] = 3
    await scene.group("a", minimum=1, gpus=1)
    await scene.phase_becomes("a", "Inqueue")
    await scene.pod("a-0", "a", gpus=1)
    await scene.phase_becomes("a", "Running")
    await scene.until(QUEUE, "q", lambda queue: allocated_gpus(queue) == "1")
    assert scene.objects.conflicts[kind] == 0


async def test_waiting_pod_says_why(scene: Scene) -> None:
    await scene.group("a", minimum=1, gpus=1)
    await scene.phase_becomes("a", "Inqueue")
    await scene.pod("a-0", "a", gpus=3)
    pod = await scene.until(POD, "a-0", lambda pod: pod["status"].get("conditions"))
    condition = pod["status"]["conditions"][0]
    text = "0/2 nodes are unavailable: 2 Insufficient nvidia.com/gpu."
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", text)
    await scene.periods(2)
    assert text in await scene.messages("a-0")


async def test_object_that_cannot_be_read_does_not_stop_the_others(scene: Scene) -> None:
    assert ODD_CLASS in await scene.objects.list(PRIORITY_CLASS)
    await scene.group("a", minimum=1, gpus=1)
    await scene.phase_becomes("a", "Inqueue")
    await scene.pod("a-0", "a", gpus=1)
    await scene.until(POD, "a-0", lambda pod: pod["spec"].get("nodeName"))
