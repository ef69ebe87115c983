"""Time in the simulated cluster: stamps are real, durations may be shortened."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """Sleeps `speed` times shorter than asked. With speed 1.0 a pod that says `sleep 30` runs 30 seconds."""

    speed: float = 1.0

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds` of simulated time."""
        await asyncio.sleep(max(0.0, seconds) / self.speed)

    @staticmethod
    def stamp() -> str:
        """The present moment as Kubernetes writes it: RFC 3339, whole seconds, `Z`."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @staticmethod
    def stamp_micro() -> str:
        """The present moment as Kubernetes' MicroTime: RFC 3339 with six decimals, `Z`."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
