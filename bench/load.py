"""Closed loops: so many connections, each doing one call after the other, for so many seconds or calls."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Call = Callable[[int], Awaitable[None]]
"""One call; the argument numbers it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How many calls ended in how many seconds, and how long each took (seconds, unordered)."""

    calls: int
    seconds: float
    latencies: list[float]

    @property
    def per_second(self) -> float:
        """Calls per second over the whole run."""
        return self.calls / self.seconds

    def percentile(self, percent: int) -> float:
        """A percentile of the latencies, in milliseconds."""
        return statistics.quantiles(self.latencies, n=100, method="inclusive")[percent - 1] * 1000


async def closed_loop(
    calls: list[Call], *, seconds: float | None = None, total: int | None = None, first: int = 0
) -> Measured:
    """Run one loop for each of `calls` (one connection each), until the time or the number of calls is used up."""
    latencies: list[float] = []
    number = first
    started = time.perf_counter()

    async def loop(call: Call) -> None:
        nonlocal number
        while (seconds is None or time.perf_counter() - started < seconds) and (
            total is None or number - first < total
        ):
            mine, number = number, number + 1
            before = time.perf_counter()
            await call(mine)
            latencies.append(time.perf_counter() - before)

    await asyncio.gather(*(loop(call) for call in calls))
    return Measured(len(latencies), time.perf_counter() - started, latencies)
