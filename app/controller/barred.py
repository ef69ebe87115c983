"""Namespaces in which the service may not create Jobs: they are left alone for a while, and others go on."""

import time
from collections.abc import Callable
from dataclasses import dataclass

_FIRST_SECONDS = 1.0
_LONGEST_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Bar:
    until: float
    seconds: float
    why: str


class Barred:
    """Pauses for each namespace, which double while the right is still missing when they end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._bars: dict[str, _Bar] = {}

    def pause(self, namespace: str) -> tuple[float, str] | None:
        """For how many seconds no Job is to be sent there, and why; None when one may be."""
        bar = self._bars.get(namespace)
        left = 0.0 if bar is None else bar.until - self._clock()
        return (left, bar.why) if bar is not None and left > 0 else None

    def bar(self, namespace: str, why: str) -> float:
        """A Job was refused for want of the right; returns for how many seconds none is sent."""
        paused = self.pause(namespace)
        if paused is not None:
            return paused[0]  # calls that were in flight together are refused together
        before = self._bars.get(namespace)
        seconds = _FIRST_SECONDS if before is None else min(before.seconds * 2, _LONGEST_SECONDS)
        self._bars[namespace] = _Bar(self._clock() + seconds, seconds, why)
        return seconds

    def lift(self, namespace: str) -> None:
        """A call was let in."""
        self._bars.pop(namespace, None)
