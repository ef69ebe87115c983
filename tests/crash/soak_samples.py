"""Memory, sockets and log lines of the processes of a soak, sampled while it runs."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.crash.soak_parts import ROLES, Fleet

_MEBIBYTE = 2**20
_WARM_MINUTES = 1.0
"""Before that, a process is still starting."""


@dataclass(frozen=True)
class Sample:
    """What one process held at one moment."""

    pid: int
    minute: float
    resident_mib: float
    sockets: int


class Samples:
    """All samples, by role."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._taken: dict[str, list[Sample]] = defaultdict(list)

    def take(self, minute: float) -> None:
        for role, part in self._fleet.running.items():
            try:
                process = psutil.Process(part.process.pid)
                with process.oneshot():
                    resident = process.memory_info().rss / _MEBIBYTE
                    sockets = len(process.net_connections(kind="all"))
            except psutil.Error:
                continue  # just killed
            self._taken[role].append(Sample(part.process.pid, minute, resident, sockets))

    def rows(self) -> list[tuple[str, ...]]:
        """Per role: processes, and of the last one minutes, memory and sockets at start and end; lines of all logs."""
        return [self._row(role) for role in ROLES if self._taken[role]]

    def _row(self, role: str) -> tuple[str, ...]:
        taken = self._taken[role]
        last = [sample for sample in taken if sample.pid == taken[-1].pid]
        warm = [sample for sample in last if sample.minute - last[0].minute >= _WARM_MINUTES]
        first, end = (warm or last)[0], last[-1]
        most = max(sample.resident_mib for sample in last)
        return (
            role,
            str(len({sample.pid for sample in taken})),
            f"{end.minute - last[0].minute:.0f}",
            f"{first.resident_mib:.0f} → {end.resident_mib:.0f} (most {most:.0f})",
            f"{first.sockets} → {end.sockets} (most {max(sample.sockets for sample in last)})",
            str(sum(_lines(path) for path in self._fleet.logs[role])),
        )


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)
