"""Writes what a session decided."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import structlog

from app.simulator.clock import Clock
from app.simulator.kinds import POD, POD_GROUP, QUEUE
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.volcano.scheduler.cache import SchedulerCache
from app.simulator.volcano.scheduler.events import EventWriter
from app.simulator.volcano.scheduler.pod_conditions import Condition, eviction_conditions, with_conditions
from app.simulator.volcano.scheduler.results import Bind, Event, Eviction, JobResult, PodCondition, SessionResult
from app.simulator.volcano.scheduler.texts import EVICT, SCHEDULER_ERROR, evicted

_AT_ONCE = 16
"""Volcano's scheduler writes with 16 workers."""

T = TypeVar("T")

log = structlog.get_logger(__name__)


class Effects:
    """Applies session results. What an API server refuses is logged and tried again by the next session."""

    def __init__(self, objects: Objects, clock: Clock, cache: SchedulerCache, events: EventWriter) -> None:
        self._objects = objects
        self._clock = clock
        self._cache = cache
        self._events = events

    async def apply(self, result: SessionResult) -> bool:
        """Write everything; True when anything was there to write (events do not count)."""
        for event in result.events:
            self._events.add(event)
        changed = self._changed_queues(result.allocated)
        await _each(self._evict, result.evictions)
        await _each(self._bind, result.binds)
        await _each(self._update_job, result.jobs)
        await _each(self._write_queue, changed)
        return bool(
            result.binds or result.evictions or changed or any(job.status or job.conditions for job in result.jobs)
        )

    async def _bind(self, bind: Bind) -> None:
        metadata = bind.pod["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        self._cache.bindings[metadata["uid"]] = bind.node
        try:
            await self._objects.bind(namespace, name, bind.node)
        except ApiError as error:
            self._cache.bindings.pop(metadata["uid"], None)
            text = f"failed to bind to node {bind.node}: {error.message}"
            await self._explain(PodCondition(bind.pod, SCHEDULER_ERROR, text))
            return
        text = f"Successfully assigned {namespace}/{name} to {bind.node}"
        self._events.add(Event(bind.pod, "Normal", "Scheduled", text))

    async def _evict(self, eviction: Eviction) -> None:
        """Tell the pod why, then delete it with its own grace period (`defaultEvictor`; volcano-facts 6.3, 6.4)."""
        pod, metadata = eviction.pod, eviction.pod["metadata"]
        uid = metadata["uid"]
        self._cache.evictions.add(uid)
        self._events.add(Event(eviction.group, "Normal", EVICT, eviction.reason))
        self._events.add(Event(pod, "Warning", EVICT, evicted(eviction.reason)))
        change = {"status": {"conditions": eviction_conditions(pod, eviction.reason, self._clock.stamp())}}
        try:
            await self._objects.patch(POD, metadata["namespace"], metadata["name"], change, "status")
            await self._objects.delete(POD, metadata["namespace"], metadata["name"], uid=uid)
        except ApiError as error:
            self._cache.evictions.discard(uid)
            _refused("A pod could not be evicted.", pod, error)

    async def _update_job(self, job: JobResult) -> None:
        """The PodGroup first: when it cannot be written, its events and its pods wait for the next session."""
        if job.status is not None and not await self._write_group(job.group, job.status):
            return
        for event in job.events:
            self._events.add(event)
        for condition in job.conditions:
            await self._explain(condition)

    async def _write_group(self, group: Object, status: Object) -> bool:
        try:
            await self._objects.replace(POD_GROUP, {**group, "status": status})
        except ApiError as error:
            _refused("A PodGroup's status could not be written.", group, error)
            return False
        return True

    async def _explain(self, condition: PodCondition) -> None:
        """Write PodScheduled=False. Its transition time stays while only reason or message change."""
        pod = condition.pod
        self._events.add(Event(pod, "Warning", "FailedScheduling", condition.message))
        new = Condition("PodScheduled", "False", condition.reason, condition.message)
        status: Object = {"conditions": with_conditions(pod, [new], self._clock.stamp())}
        if condition.nominated:
            status["nominatedNodeName"] = condition.nominated
        metadata = pod["metadata"]
        change = {"status": status}
        try:
            await self._objects.patch(POD, metadata["namespace"], metadata["name"], change, "status")
        except ApiError as error:
            _refused("A pod's condition could not be written.", pod, error)

    def _changed_queues(self, allocated: dict[str, dict[str, str]]) -> list[Object]:
        changed = []
        for name, amounts in allocated.items():
            queue = self._cache.queue(name)
            status = (queue or {}).get("status") or {}
            if queue is not None and status.get("allocated") != amounts:
                changed.append({**queue, "status": {"reservation": {}, **status, "allocated": amounts}})
        return changed

    async def _write_queue(self, queue: Object) -> None:
        try:
            await self._objects.replace(QUEUE, queue, "status")
        except ApiError as error:
            _refused("A queue's allocated resources could not be written.", queue, error)


async def _each(write: Callable[[T], Awaitable[None]], items: Iterable[T]) -> None:
    """Write all, some at the same time."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(item: T) -> None:
        async with slots:
            await write(item)

    await asyncio.gather(*(one(item) for item in items))


def _refused(what: str, obj: Object, error: ApiError) -> None:
    """That somebody else wrote or deleted first is nothing to warn of."""
    tell = log.info if error.reason in ("Conflict", "NotFound") else log.warning
    tell(what, name=obj["metadata"]["name"], code=error.code, reason=error.reason)
