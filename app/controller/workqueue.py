"""The keys that wait for a reconcile, for tasks to wait on."""

import asyncio
import random
import time
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from app.controller.schedule import Schedule

KeyT = TypeVar("KeyT", bound=Hashable)


class WorkQueue(Generic[KeyT]):
    """A `Schedule` with a clock."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, jitter: Callable[[], float] = random.random
    ) -> None:
        self._schedule: Schedule[KeyT] = Schedule()
        self._clock = clock
        self._jitter = jitter
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._schedule)

    def add(self, key: KeyT, after_seconds: float = 0.0) -> None:
        """Ask for a look at a key; within the wait any number of further asks cost nothing."""
        self._schedule.add(key, self._clock() + after_seconds)
        self._changed.set()

    def add_all(self, keys: Iterable[KeyT], within_seconds: float = 0.0) -> None:
        """Ask for a look at many keys, spread over a while."""
        for key in keys:
            self.add(key, self._jitter() * within_seconds)

    async def take(self, limit: int) -> list[KeyT]:
        """Wait until keys are due and take up to `limit` of them; give each back by `done` or `retry`."""
        while True:
            self._changed.clear()
            keys = self._schedule.take(self._clock(), limit)
            if keys:
                return keys
            due_at = self._schedule.next_due()
            try:
                async with asyncio.timeout(None if due_at is None else max(0.0, due_at - self._clock())):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def done(self, key: KeyT) -> None:
        """The work on a key went well."""
        self._schedule.done(key)
        self._changed.set()

    def retry(self, key: KeyT) -> None:
        """The work on a key failed; it comes back after a pause."""
        self._schedule.retry(key, self._clock(), self._jitter())
        self._changed.set()
