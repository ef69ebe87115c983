"""A queue of work as client-go's: equal items wait once, and an item is never worked on twice at the same time."""

import asyncio
from collections import Counter, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

BASE_DELAY_SECONDS = 0.005
MAXIMUM_DELAY_SECONDS = 1000.0


class WorkQueue(Generic[T]):
    """Semantics of `workqueue.TypedRateLimitingInterface` (k8s.io/client-go), for one consumer."""

    def __init__(self) -> None:
        self._waiting: deque[T] = deque()
        self._dirty: set[T] = set()
        self._working: set[T] = set()
        self._failures: Counter[T] = Counter()
        self._arrived = asyncio.Event()

    def add(self, item: T) -> None:
        """Put an item, unless an equal one waits; one that is being worked on comes again after `done`."""
        if item in self._dirty:
            return
        self._dirty.add(item)
        if item not in self._working:
            self._waiting.append(item)
            self._arrived.set()

    async def get(self) -> T:
        """Take the oldest item; `done` must follow."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        item = self._waiting.popleft()
        self._dirty.discard(item)
        self._working.add(item)
        return item

    def done(self, item: T) -> None:
        """End the work on an item."""
        self._working.discard(item)
        if item in self._dirty:
            self._waiting.append(item)
            self._arrived.set()

    def failures(self, item: T) -> int:
        """How often an item was put back since it was last forgotten."""
        return self._failures[item]

    def failed(self, item: T) -> float:
        """Count a failure.

        Returns:
            Seconds to wait before the item is added again: 5 ms, doubled by each failure before.
        """
        delay = min(BASE_DELAY_SECONDS * 2.0 ** self._failures[item], MAXIMUM_DELAY_SECONDS)
        self._failures[item] += 1
        return delay

    def forget(self, item: T) -> None:
        """Start counting an item's failures anew."""
        self._failures.pop(item, None)
