"""The scheduler's view of the cluster, kept up to date by watches."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from app.simulator.clock import Clock
from app.simulator.kinds import NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, Kind
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.volcano.informer import RECONNECT_SECONDS, Change, Informer
from app.simulator.volcano.names import key_of
from app.simulator.volcano.scheduler.facts import (
    read_node,
    read_pod_group,
    read_priority_class,
    read_queue,
)
from app.simulator.volcano.scheduler.pod_facts import read_pod
from app.simulator.volcano.scheduler.snapshot import Snapshot
from app.simulator.volcano.scheduler.statuses import EVICTABLE_STATUSES, TaskStatus

T = TypeVar("T")

log = structlog.get_logger(__name__)


class _Table(Generic[T]):
    """The facts of all objects of one kind, read once per version."""

    def __init__(self, objects: Objects, kind: Kind, clock: Clock, read: Callable[[Object], T]) -> None:
        self._read = read
        self._clock = clock
        self._informer = Informer(objects, kind, clock, self._changed)
        self.facts: dict[str, T] = {}
        self.changes = 0
        """Counts the changes that a session could notice."""

    async def fill(self) -> None:
        """Read what exists, so that no session acts on a part of it; try until the API server answers."""
        while True:
            try:
                await self._informer.fill()
                break
            except ApiError as error:
                log.warning("The scheduler cannot list objects yet.", code=error.code)
                await self._clock.sleep(RECONNECT_SECONDS)
        for obj in list(self._informer.items.values()):
            self._changed("ADDED", None, obj)

    async def run(self) -> None:
        """Follow the watch until cancelled."""
        await self._informer.run()

    def _changed(self, change: Change, old: Object | None, obj: Object) -> None:
        key = key_of(obj)
        known = self.facts.pop(key, None)
        present = self._informer.items.get(key)
        facts = None if present is None else self._try_to_read(key, present)
        if facts is not None:
            self.facts[key] = facts
        self.changes += known != facts

    def _try_to_read(self, key: str, obj: Object) -> T | None:
        """The facts, or None for an object that is not what its schema says: one such must not stop the others."""
        try:
            return self._read(obj)
        except (KeyError, TypeError, ValueError, AttributeError):
            log.exception("The scheduler leaves out an object that it cannot read.", key=key)
            return None


class SchedulerCache:
    """Everything a session reads, and the bindings and evictions that no watch has shown yet."""

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._nodes = _Table(objects, NODE, clock, read_node)
        self._pods = _Table(objects, POD, clock, read_pod)
        self._groups = _Table(objects, POD_GROUP, clock, read_pod_group)
        self._queues = _Table(objects, QUEUE, clock, read_queue)
        self._priorities = _Table(objects, PRIORITY_CLASS, clock, read_priority_class)
        self.bindings: dict[str, str] = {}
        self.evictions: set[str] = set()

    @property
    def version(self) -> int:
        """Grows with every change that a session could notice."""
        tables = (self._nodes, self._pods, self._groups, self._queues, self._priorities)
        return sum(table.changes for table in tables)

    async def run(self, filled: asyncio.Event) -> None:
        """Read everything, set `filled`, and follow the watches until cancelled."""
        tables = (self._nodes, self._pods, self._groups, self._queues, self._priorities)
        for table in tables:
            await table.fill()
        filled.set()
        async with asyncio.TaskGroup() as group:
            for table in tables:
                group.create_task(table.run())

    def snapshot(self) -> Snapshot:
        """The cluster as it is known now."""
        self._drop_seen()
        return Snapshot(
            nodes=tuple(self._nodes.facts.values()),
            pods=tuple(self._pods.facts.values()),
            groups=tuple(self._groups.facts.values()),
            queues=tuple(self._queues.facts.values()),
            priorities=tuple(self._priorities.facts.values()),
            bindings=dict(self.bindings),
            evictions=frozenset(self.evictions),
        )

    def queue(self, name: str) -> Object | None:
        """A Queue as it was last seen."""
        facts = self._queues.facts.get(f"/{name}")
        return None if facts is None else facts.raw

    def _drop_seen(self) -> None:
        """Forget bindings and evictions that a watch has shown, and those of pods that are gone."""
        if self.evictions:
            there = {pod.uid for pod in self._pods.facts.values() if pod.status in EVICTABLE_STATUSES}
            self.evictions &= there
        if self.bindings:
            waiting = {pod.uid for pod in self._pods.facts.values() if pod.status == TaskStatus.PENDING}
            self.bindings = {uid: node for uid, node in self.bindings.items() if uid in waiting}
