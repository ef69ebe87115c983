"""The scheduler on an API server in memory, with a configuration that evicts."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.simulator.kinds import POD, POD_GROUP
from app.simulator.volcano.scheduler_loop import run_scheduler
from app.simulator.volcano.settings import VolcanoSettings
from tests.unit.simulator.scheduler.loop_scene import (
    LIMIT_SECONDS,
    Scene,
)

EVICTING = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang, enableReclaimable: false}, {name: predicates}, {name: proportion}]
"""


@pytest.fixture
async def evicting(tmp_path: Path) -> AsyncIterator[Scene]:
    """A scene whose scheduler may reclaim, where `low` of the queue `other` runs on all four GPUs."""
    built = Scene()
    await built.prepare()
    await built.queue("other")
    configuration = tmp_path / "volcano-scheduler.conf"
    configuration.write_text(EVICTING)
    settings = VolcanoSettings(seed=3, scheduler_config=configuration)
    task = asyncio.create_task(run_scheduler(built.objects, built.clock, settings))
    await built.group("low", minimum=4, gpus=4, queue="other")
    await built.phase_becomes("low", "Inqueue")
    for name in ("low-0", "low-1", "low-2", "low-3"):
        await built.pod(name, "low", gpus=1)
        await built.until(POD, name, lambda pod: pod["spec"].get("nodeName") or pod["status"].get("conditions"))
    for name in ("low-0", "low-1", "low-2", "low-3"):
        await built.until(POD, name, lambda pod: pod["spec"].get("nodeName"))
        await built.start_pod(name)
    await built.until(POD_GROUP, "low", lambda group: group["status"].get("running") == 4)
    yield built
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_evicted_pod_is_told_and_deleted(evicting: Scene) -> None:
    await evicting.group("high", minimum=1, gpus=1)
    await evicting.phase_becomes("high", "Inqueue")
    await evicting.pod("high-0", "high", gpus=1)
    waiting = await evicting.until(POD, "high-0", lambda pod: pod["status"].get("nominatedNodeName"))
    pods = await evicting.objects.list(POD, "team")
    (victim,) = [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
    assert victim["spec"]["nodeName"] == waiting["status"]["nominatedNodeName"]
    conditions = {item["type"]: item for item in victim["status"]["conditions"]}
    assert (conditions["Ready"]["status"], conditions["Ready"]["reason"]) == ("False", "Evict")
    assert conditions["Ready"]["message"] == "Pod is evicted, because of reclaim"
    target = conditions["DisruptionTarget"]
    assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
    assert target["message"] == "volcano: preempting to accommodate a higher priority pod"
    await evicting.periods(3)
    assert (await evicting.messages(victim["metadata"]["name"]))["Pod is evicted, because of reclaim"] == 1
    assert (await evicting.messages("low"))["reclaim"] == 1
    await evicting.objects.delete(POD, "team", victim["metadata"]["name"], grace_period_seconds=0)
    bound = await evicting.until(POD, "high-0", lambda pod: pod["spec"].get("nodeName"))
    assert "nominatedNodeName" not in bound["status"]


async def test_eviction_that_is_refused_is_tried_again(evicting: Scene) -> None:
    evicting.objects.delete_failures = 1
    await evicting.group("high", minimum=1, gpus=1)
    await evicting.phase_becomes("high", "Inqueue")
    await evicting.pod("high-0", "high", gpus=1)
    await evicting.until(POD, "high-0", lambda pod: pod["status"].get("nominatedNodeName"))
    async with asyncio.timeout(LIMIT_SECONDS):
        while not any("deletionTimestamp" in pod["metadata"] for pod in await evicting.objects.list(POD, "team")):
            await evicting.periods(1)
    assert evicting.objects.delete_failures == 0


async def test_edited_configuration_is_followed_although_nothing_else_changes(tmp_path: Path) -> None:
    built = Scene()
    await built.prepare()
    configuration = tmp_path / "volcano-scheduler.conf"
    configuration.write_text("actions: allocate, backfill\ntiers: [{plugins: [{name: gang}]}]\n")
    settings = VolcanoSettings(seed=3, scheduler_config=configuration)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_scheduler(built.objects, built.clock, settings))
        await built.group("big", minimum=9, gpus=9)
        await built.phase_becomes("big", "Inqueue")
        await built.group("bigger", minimum=9, gpus=9)
        await built.phase_becomes("bigger", "Inqueue")
        configuration.write_text(EVICTING)
        await built.group("late", minimum=9, gpus=9)
        await built.phase_becomes("late", "Pending")
        await built.periods(3)
        configuration.write_text("actions: allocate\n")
        await built.phase_becomes("late", "Inqueue")
        task.cancel()
