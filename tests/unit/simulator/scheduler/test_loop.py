"""The scheduler on an API server in memory."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.simulator.clock import Clock
from app.simulator.kinds import EVENT, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, Kind
from app.simulator.memory import MemoryObjects
from app.simulator.objects import ApiError, Object
from app.simulator.registry import Registry
from app.simulator.store import Store
from app.simulator.volcano.scheduler_loop import run_scheduler
from app.simulator.volcano.settings import VolcanoSettings

GPU = "nvidia.com/gpu"
LIMIT_SECONDS = 10
ODD_CLASS = {"kind": "PriorityClass", "metadata": {"name": "odd", "uid": "odd"}, "value": "high"}
"""No API server takes it, but an old etcd may hold one."""


@dataclass(frozen=True, slots=True)
class CountingClock(Clock):
    """Tells when the scheduler has come round."""

    rounds: asyncio.Event = field(default_factory=asyncio.Event)

    async def sleep(self, seconds: float) -> None:
        self.rounds.set()
        await asyncio.sleep(0.002)


class FailingObjects(MemoryObjects):
    """Refuses the first tries of some writes."""

    def __init__(self, registry: Registry) -> None:
        super().__init__(registry)
        self.bind_failures = 0
        self.binds = 0
        self.hides_binds = False
        self.list_failures = 2
        self.delete_failures = 0
        self.conflicts: dict[Kind, int] = {}

    async def list(self, kind: Kind, namespace: str | None = None, label_selector: str | None = None) -> list[Object]:
        if kind is POD_GROUP and self.list_failures:
            self.list_failures -= 1
            raise ApiError(503, "ServiceUnavailable", "not yet")
        found = await super().list(kind, namespace, label_selector)
        return [ODD_CLASS, *found] if kind is PRIORITY_CLASS else found

    async def bind(self, namespace: str, pod: str, node: str) -> None:
        self.binds += 1
        if self.hides_binds:
            return
        if self.bind_failures:
            self.bind_failures -= 1
            raise ApiError(500, "InternalError", "the node is on fire")
        await super().bind(namespace, pod, node)

    async def delete(self, kind: Kind, namespace: str | None, name: str, **options: Any) -> None:
        if self.delete_failures:
            self.delete_failures -= 1
            raise ApiError(503, "ServiceUnavailable", "not now")
        await super().delete(kind, namespace, name, **options)

    async def replace(self, kind: Kind, obj: Object, subresource: str | None = None) -> Object:
        if self.conflicts.get(kind):
            self.conflicts[kind] -= 1
            raise ApiError(409, "Conflict", "the object has been modified")
        return await super().replace(kind, obj, subresource)


class Scene:
    """An API server with two nodes and the queue `q`."""

    def __init__(self) -> None:
        self.objects = FailingObjects(Registry(Store()))
        self.clock = CountingClock()

    async def prepare(self) -> None:
        await self.objects.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        for name in ("gpu-1", "gpu-2"):
            status = {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", GPU: "2"}}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}, "status": status}
            await self.objects.create(NODE, node)
        for name in ("root", "q"):
            await self.queue(name)

    async def queue(self, name: str) -> None:
        queue = {
            "apiVersion": QUEUE.api_version,
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": 1},
        }
        await self.objects.create(QUEUE, queue)
        await self.objects.patch(QUEUE, None, name, {"status": {"state": "Open"}}, "status")

    async def group(self, name: str, minimum: int, gpus: int, queue: str = "q") -> None:
        spec = {"queue": queue, "minMember": minimum, "minResources": {GPU: str(gpus), "pods": str(minimum)}}
        metadata = {"name": name, "namespace": "team"}
        await self.objects.create(
            POD_GROUP,
            {"apiVersion": POD_GROUP.api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec},
        )

    async def pod(self, name: str, group: str, gpus: int) -> None:
        annotations = {"scheduling.k8s.io/group-name": group, "volcano.sh/task-index": name[-1]}
        requests = {"cpu": "1", GPU: str(gpus)}
        resources = {"requests": requests, "limits": requests}
        spec = {
            "schedulerName": "volcano",
            "containers": [{"name": "main", "image": "registry.test/llm:1", "resources": resources}],
        }
        metadata = {"name": name, "namespace": "team", "annotations": annotations}
        await self.objects.create(POD, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    async def phase_becomes(self, name: str, phase: str) -> None:
        await self.until(POD_GROUP, name, lambda group: (group.get("status") or {}).get("phase") == phase)

    async def until(self, kind: Kind, name: str, holds: Callable[[Object], Any]) -> Object:
        """The object as soon as it is so."""
        async with asyncio.timeout(LIMIT_SECONDS):
            async for event in self.objects.watch(kind):
                if event.object["metadata"]["name"] == name and holds(event.object):
                    return event.object
        raise AssertionError("A watch ended.")

    async def periods(self, count: int) -> None:
        """Let the scheduler come round some more times."""
        async with asyncio.timeout(LIMIT_SECONDS):
            for _ in range(count):
                self.clock.rounds.clear()
                await self.clock.rounds.wait()

    async def messages(self, about: str) -> dict[str, int]:
        """Messages of the events about an object and how often each was told."""
        events = await self.objects.list(EVENT, "team")
        return {event["message"]: event["count"] for event in events if event["involvedObject"]["name"] == about}

    async def start_pod(self, name: str) -> None:
        await self.objects.patch(POD, "team", name, {"status": {"phase": "Running"}}, "status")


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


def allocated_gpus(queue: Object) -> str | None:
    return ((queue.get("status") or {}).get("allocated") or {}).get(GPU)


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
