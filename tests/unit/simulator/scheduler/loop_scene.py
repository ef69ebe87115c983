"""The scheduler on an API server in memory that refuses some writes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app.simulator.clock import Clock
from app.simulator.kinds import EVENT, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, Kind
from app.simulator.memory import MemoryObjects
from app.simulator.objects import ApiError, Object
from app.simulator.registry import Registry
from app.simulator.store import Store

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


def allocated_gpus(queue: Object) -> str | None:
    return ((queue.get("status") or {}).get("allocated") or {}).get(GPU)
