"""The changes of one kind, in order, for watches: a bounded ring and the watchers that follow it."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from app.simulator.objects import EventType, Object
from app.simulator.refusals import expired

HISTORY_LENGTH = 10_000
"""Changes kept of each kind. A watch from before the oldest gets 410, as after a compaction of etcd."""


def encode(value: Any) -> bytes:
    """Compact JSON. Half a surrogate pair, which JSON text can hold and UTF-8 cannot, becomes a question mark."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


class Record:
    """One version of an object, encoded at most once however many readers ask."""

    __slots__ = ("_encoded", "_item", "object", "version")

    def __init__(self, obj: Object, version: int) -> None:
        self.object = obj
        self.version = version
        self._encoded: bytes | None = None
        self._item: bytes | None = None

    @property
    def encoded(self) -> bytes:
        """The object as compact JSON."""
        if self._encoded is None:
            self._encoded = encode(self.object)
        return self._encoded

    @property
    def encoded_item(self) -> bytes:
        """The same without kind and apiVersion, as the lists of core kinds show their items."""
        if self._item is None:
            self._item = encode({k: v for k, v in self.object.items() if k not in ("kind", "apiVersion")})
        return self._item


@dataclass(frozen=True, slots=True)
class Change:
    """One write. `record` is the object after it; for DELETED the last state with the version of the deletion."""

    type: EventType
    record: Record
    previous: Record | None


@dataclass(slots=True, eq=False)
class Watcher:
    """Changes that one follower has not taken yet."""

    pending: deque[Change] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def push(self, change: Change) -> None:
        """Append a change and wake the follower."""
        self.pending.append(change)
        self.arrived.set()

    async def take(self) -> Change:
        """Wait for the next change."""
        while not self.pending:
            self.arrived.clear()
            await self.arrived.wait()
        return self.pending.popleft()

    async def __aiter__(self) -> AsyncIterator[Change]:
        while True:
            yield await self.take()


class History:
    """The ring of one kind."""

    def __init__(self, floor: int, length: int = HISTORY_LENGTH) -> None:
        self._floor = floor
        self._changes: deque[Change] = deque()
        self._length = length
        self._watchers: set[Watcher] = set()

    def append(self, change: Change) -> None:
        """Keep a change and hand it to every watcher."""
        self._changes.append(change)
        if len(self._changes) > self._length:
            self._floor = self._changes.popleft().record.version
        for watcher in self._watchers:
            watcher.push(change)

    def compact(self, version: int) -> None:
        """Forget every change up to `version`: watches from before it get 410 from now on."""
        self._floor = max(self._floor, version)
        while self._changes and self._changes[0].record.version <= version:
            self._changes.popleft()

    def since(self, version: int) -> list[Change]:
        """The changes after `version`.

        Raises:
            ApiError: 410 Expired when some of them are forgotten.
        """
        if version < self._floor:
            raise expired(f"too old resource version: {version} ({self._floor})")
        newer: list[Change] = []
        for change in reversed(self._changes):
            if change.record.version <= version:
                break
            newer.append(change)
        newer.reverse()
        return newer

    @contextmanager
    def follow(self, version: int) -> Iterator[Watcher]:
        """A watcher that gets every change after `version`, without a gap, until the block ends."""
        watcher = Watcher(deque(self.since(version)))
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)
