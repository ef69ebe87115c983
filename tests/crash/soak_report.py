"""The tables of a soak, and the place in docs/reliability.md where they stand. Pure but for that file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.crash.clusters import ROOT

DOCUMENT = ROOT / "docs" / "reliability.md"
_BEGIN, _END = "<!-- soak: begin -->", "<!-- soak: end -->"


@dataclass(frozen=True)
class Report:
    """What a soak has come to."""

    date: str
    minutes: float
    seed: int
    cluster: str
    accepted: int
    created: int
    unanswered: int
    ends: Mapping[str, int]
    faults: Mapping[str, int]
    checks: int
    violations: Sequence[str]
    processes: Sequence[tuple[str, ...]]

    def markdown(self) -> str:
        """The tables."""
        ends = ", ".join(f"{count} {state}" for state, count in sorted(self.ends.items()))
        facts = [
            ("date", self.date),
            ("minutes, with the drain", f"{self.minutes:.0f}"),
            ("cluster", self.cluster),
            ("seed", str(self.seed)),
            ("faults", str(sum(self.faults.values()))),
            ("jobs accepted", str(self.accepted)),
            ("Volcano Jobs ever created", str(self.created)),
            ("jobs ended", ends),
            ("requests without an answer, repeated", str(self.unanswered)),
            ("checks", str(self.checks)),
            ("violations", "; ".join(self.violations) or "0"),
        ]
        faults = [(name, str(count)) for name, count in sorted(self.faults.items())]
        heads = ("process", "started", "minutes of the last", "its memory, MiB", "its sockets", "log lines of all")
        return "\n\n".join(
            [_table(("what", "value"), facts), _table(("fault", "times"), faults), _table(heads, self.processes)]
        )

    def write(self, document: Path = DOCUMENT) -> None:
        """Put the tables between the two marks of the document."""
        text = document.read_text()
        head, rest = text.split(_BEGIN)
        tail = rest.split(_END)[1]
        document.write_text(f"{head}{_BEGIN}\n\n{self.markdown()}\n\n{_END}{tail}")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))
