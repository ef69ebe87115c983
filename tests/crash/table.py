"""The crash table: one line for each fault on each cluster. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

_HEAD = ("fault", "what was done", "cluster", "accepted", "created", "end states", "usage", "orphans", "s", "")


@dataclass(frozen=True)
class Line:
    """What came of one fault. `outcome` is "ok" only when everything was checked and held."""

    fault: str
    done: str
    cluster: str
    accepted: int = 0
    created: int = 0
    ends: Mapping[str, int] = field(default_factory=dict)
    usage_is_right: bool = False
    orphans: int = 0
    seconds: float = 0.0
    outcome: str = "FAILED"

    def told(self, *, ends: Counter[str], **facts: Any) -> Self:
        """The line with what was counted."""
        return replace(self, ends=dict(ends), **facts)

    def passed(self) -> Self:
        """The line of a fault after which all held."""
        return replace(self, outcome="ok")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, to be handed between processes."""
        return asdict(self)


def markdown(lines: Iterable[Line]) -> str:
    """The table, faults in the order of their names."""
    rows = [_cells(line) for line in sorted(lines, key=lambda line: (line.cluster, line.fault, line.done))]
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in (_HEAD, ("---",) * len(_HEAD), *rows)])


def _cells(line: Line) -> tuple[str, ...]:
    ends = ", ".join(f"{count} {state}" for state, count in sorted(line.ends.items()))
    usage = "= recount" if line.usage_is_right else "DIFFERS"
    counts = (str(line.accepted), str(line.created), ends, usage, str(line.orphans), f"{line.seconds:.0f}")
    return (line.fault, line.done, line.cluster, *counts, line.outcome)
