"""When which key is due: coalescing, serial per key, with back-off. No clock and no I/O of its own.

Modelled on what Kubernetes controllers call a rate-limited work queue: a key that is worked on and added again becomes
due once more when its work is done, so no change is lost and no key is worked on twice at a time.
"""

import heapq
import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)

FIRST_BACK_OFF_SECONDS = 0.5
LONGEST_BACK_OFF_SECONDS = 60.0
_MOST_DOUBLINGS = 10


class Schedule(Generic[KeyT]):
    """Keys and the moments at which they are due; `now` is whatever clock the caller keeps to."""

    def __init__(self) -> None:
        self._due: dict[KeyT, float] = {}
        self._heap: list[tuple[float, int, KeyT]] = []
        self._order = itertools.count()
        self._worked_on: dict[KeyT, float | None] = {}
        self._failures: dict[KeyT, int] = {}

    def __len__(self) -> int:
        return len(self._due)

    def add(self, key: KeyT, at: float) -> None:
        """Make a key due at `at`; if it was due earlier, that stays."""
        if key in self._worked_on:
            before = self._worked_on[key]
            self._worked_on[key] = at if before is None else min(before, at)
        elif key not in self._due or at < self._due[key]:
            self._due[key] = at
            heapq.heappush(self._heap, (at, next(self._order), key))

    def take(self, now: float, limit: int) -> list[KeyT]:
        """Take up to `limit` due keys; each must be given back by `done` or `retry`."""
        taken: list[KeyT] = []
        while len(taken) < limit and (at := self.next_due()) is not None and at <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._due[key]
            self._worked_on[key] = None
            taken.append(key)
        return taken

    def next_due(self) -> float | None:
        """When the next key is due; None when there is none."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # it was made due earlier meanwhile, or was taken
        return self._heap[0][0] if self._heap else None

    def done(self, key: KeyT) -> None:
        """The work on a key went well."""
        self._failures.pop(key, None)
        self._give_back(key)

    def retry(self, key: KeyT, now: float, jitter: float) -> None:
        """The work on a key failed: it is due again after a pause that doubles each time.

        Args:
            key: as taken.
            now: the present moment.
            jitter: from 0 to 1; the pause lies between half and the whole of its step, so that keys drift apart.
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        step = min(FIRST_BACK_OFF_SECONDS * 2 ** min(failures, _MOST_DOUBLINGS), LONGEST_BACK_OFF_SECONDS)
        # what was added meanwhile does not cut the pause short: it will be seen after it
        self._worked_on[key] = None
        self._give_back(key)
        self.add(key, now + step * (0.5 + jitter / 2))

    def _give_back(self, key: KeyT) -> None:
        again_at = self._worked_on.pop(key, None)
        if again_at is not None:
            self.add(key, again_at)
