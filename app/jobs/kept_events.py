"""The newest events of a feed in memory, and who wants which of them. No I/O."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.jobs.feed import Position
from app.jobs.states import JobState
from app.jobs.store import Row


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events somebody follows; None and empty leave a member out."""

    team: str | None = None
    job_id: UUID | None = None
    types: frozenset[str] = frozenset()
    states: frozenset[JobState] = frozenset()

    def takes(self, row: Row) -> bool:
        """Whether an event is one of them."""
        return (
            (self.job_id is None or row["job_id"] == self.job_id)
            and (self.team is None or row["team"] == self.team)
            and (not self.types or row["type"] in self.types)
            and (not self.states or row["state"] in self.states)
        )


class Entry:
    """An event, and the bytes that tell of it, which are made once for all followers."""

    __slots__ = ("_encode", "_encoded", "row")

    def __init__(self, row: Row, encode: Callable[[Row], bytes]) -> None:
        self.row = row
        self._encode = encode
        self._encoded: bytes | None = None

    @property
    def encoded(self) -> bytes:
        """The event as it is sent."""
        if self._encoded is None:
            self._encoded = self._encode(self.row)
        return self._encoded


@dataclass(frozen=True, slots=True)
class Part:
    """What comes next for a follower, perhaps nothing, and the position behind it."""

    entries: Sequence[Entry]
    position: Position


@dataclass(slots=True)
class Kept:
    """The events behind `start` up to `end`, all of them, in batches; the oldest are dropped above `most`."""

    most: int
    start: Position = 0
    end: Position = 0
    batches: deque[Part] = field(default_factory=deque)
    count: int = 0

    def restart(self, position: Position) -> None:
        """Keep nothing, and begin at a position."""
        self.start = self.end = position
        self.batches.clear()
        self.count = 0

    def add(self, batch: Part) -> None:
        """Take in the next events; a position may move without any, over ids of transactions that were rolled back."""
        self.end = batch.position
        if not batch.entries:
            return
        self.batches.append(batch)
        self.count += len(batch.entries)
        while self.count > self.most:
            dropped = self.batches.popleft()
            self.start = dropped.position
            self.count -= len(dropped.entries)

    def next(self, wanted: Wanted, position: Position) -> Part:
        """The first wanted events behind a position that is not before `start`, and the position behind them."""
        for batch in self._behind(position):
            entries = [entry for entry in batch.entries if wanted.takes(entry.row)]
            if position > batch.entries[0].row["id"]:  # it began elsewhere, in the middle of this batch
                entries = [entry for entry in entries if entry.row["id"] > position]
            position = batch.position
            if entries:
                return Part(entries, position)
        return Part((), max(position, self.end))

    def _behind(self, position: Position) -> Iterator[Part]:
        newest_first = []
        for batch in reversed(self.batches):
            if batch.position <= position:
                break
            newest_first.append(batch)
        return reversed(newest_first)
