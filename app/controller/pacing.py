"""How many create calls may be in flight: more while the API server answers well, half as many when it does not."""

import asyncio
import random
import time
from collections.abc import Callable

SLOW_SECONDS = 2.0
"""A create call that takes longer counts as a sign of overload: Volcano's webhooks are behind it."""

_SHORTEST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_HALVE_ONCE_IN_SECONDS = 1.0


class Pacer:
    """Additive increase, multiplicative decrease (as TCP does) on concurrency, with pauses that the server asks for."""

    def __init__(
        self,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._most = most
        self._clock = clock
        self._jitter = jitter
        self._limit = float(most)
        self._in_flight = 0
        self._halved_at = float("-inf")
        self._paused_until = float("-inf")
        self._failures = 0
        self._freed = asyncio.Condition()

    @property
    def limit(self) -> int:
        """Calls in flight at the most, now."""
        return max(1, int(self._limit))

    @property
    def pause_seconds(self) -> float:
        """How long no call may begin."""
        return max(0.0, self._paused_until - self._clock())

    async def enter(self, patience_seconds: float) -> bool:
        """Wait until a call may begin; `leave` must follow.

        Returns:
            False, and nothing follows, when the server is to be left alone for longer than `patience_seconds`.
        """
        while True:
            pause = self.pause_seconds
            if pause > patience_seconds:
                return False
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            async with self._freed:
                if self._in_flight < self.limit:
                    self._in_flight += 1
                    return True
                await self._freed.wait()

    async def leave(self) -> None:
        """A call has ended."""
        async with self._freed:
            self._in_flight -= 1
            self._freed.notify_all()

    def went_well(self, seconds: float) -> None:
        """A call was answered, well or with a refusal that is about the job alone."""
        self._failures = 0
        if seconds > SLOW_SECONDS:
            self._halve()
        else:
            self._limit = min(float(self._most), self._limit + 1 / self.limit)

    def went_badly(self, retry_after_seconds: float | None = None) -> float:
        """The server asked to be left alone or was not there; returns for how many seconds nothing is sent.

        Without a word from the server the pause doubles with each failure in a row.
        """
        self._halve()
        if self.pause_seconds > 0 and retry_after_seconds is None:
            return self.pause_seconds  # calls that were in flight together fail together
        self._failures += 1
        step = min(_SHORTEST_PAUSE_SECONDS * 2 ** min(self._failures - 1, 10), _LONGEST_PAUSE_SECONDS)
        pause = max(step * (0.5 + self._jitter() / 2), retry_after_seconds or 0.0)
        self._paused_until = max(self._paused_until, self._clock() + pause)
        return self.pause_seconds

    def _halve(self) -> None:
        if self._clock() - self._halved_at >= _HALVE_ONCE_IN_SECONDS:
            self._halved_at = self._clock()
            self._limit = max(1.0, self._limit / 2)
