"""Time in the simulated cluster: stamps are real, durations may be shortened."""

import asyncio
import math
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """Sleeps `speed` times shorter than asked. With speed 1.0 a pod that says `sleep 30` runs 30 seconds."""

    speed: float = 1.0

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds` of simulated time."""
        await asyncio.sleep(max(0.0, seconds) / self.speed)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Wait for `event`, at most `seconds` of simulated time (may be infinite); whether it is set."""
        limit = None if seconds == math.inf else max(0.0, seconds) / self.speed
        try:
            await asyncio.wait_for(event.wait(), limit)
        except TimeoutError:
            return event.is_set()
        return True

    @staticmethod
    def stamp() -> str:
        """The present moment as Kubernetes writes it: RFC 3339, whole seconds, `Z`."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @staticmethod
    def stamp_micro() -> str:
        """The present moment as Kubernetes' MicroTime: RFC 3339 with six decimals, `Z`."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
