"""Up to which id the history of all jobs is decided, so that a reader who remembers an id never misses an event.

Ids of events come from a sequence, and a larger one may be committed before a smaller one. A transaction that inserts
events locks their table (ROW EXCLUSIVE) before it takes an id and until its rows are visible to everybody (PostgreSQL
manual, "Table-Level Locks"). So ids that the sequence had given out at one moment are decided, which is committed or
never to come, when every transaction that held this lock right after that moment has ended. docs/adr/0015.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Sessions, reading
from app.errors import Unavailable

_MOST_MARKS = 64
_PREPARED = "-1/"
"""How pg_locks begins the name of a prepared transaction; as long as it was not prepared it had another one."""

# The subquery names the outer row, so that Postgres cannot read the locks before the sequence. The order is the point.
_LOOK = text(
    """
    SELECT given.last_value AS last, given.is_called, ARRAY(
        SELECT held.virtualtransaction FROM pg_catalog.pg_locks AS held
        WHERE held.locktype = 'relation' AND held.relation = 'job_events'::regclass AND held.granted
          AND held.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
          AND held.mode = 'RowExclusiveLock' AND given.last_value IS NOT NULL
    ) AS writers
    FROM job_events_id_seq AS given
    """
)


@dataclass(slots=True)
class _Mark:
    """A moment: the last id given out, and who of those that may still insert a smaller one has not ended."""

    last: int
    writers: frozenset[str]
    at: float


class Horizon:
    """What one process knows of it. It never goes back, unless Postgres itself lost ids in a failover.

    Only transactions that write events hold it up, whatever else runs in the same Postgres.
    """

    def __init__(self) -> None:
        self._decided = 0
        self._last = 0
        self._marks: deque[_Mark] = deque()
        self._looking = asyncio.Lock()

    @property
    def waiting_seconds(self) -> float:
        """For how long the oldest undecided id that was seen has been waited for."""
        return time.monotonic() - self._marks[0].at if self._marks else 0.0

    @property
    def last(self) -> int:
        """The last id that was given out when somebody looked."""
        return self._last

    async def look(self, session: AsyncSession) -> int:
        """The id up to which everything is decided. Events are to be read by a later statement than this one."""
        async with self._looking:  # what was seen later must not be judged by what was seen before
            row = (await session.execute(_LOOK)).one()
            return self.saw(row.last if row.is_called else 0, frozenset(row.writers))

    async def reach(self, sessions: Sessions, *, seconds: float) -> int:
        """The same, after everything that was given out when this was called is decided, or so many seconds.

        Raises:
            Unavailable: after that time nothing at all is known, since somebody has been writing all the while.
        """
        deadline = time.monotonic() + seconds
        wanted: int | None = None
        while True:
            async with reading(sessions) as session:
                decided = await self.look(session)
            wanted = self._last if wanted is None else wanted
            if decided >= wanted or (decided and time.monotonic() >= deadline):
                return decided
            if time.monotonic() >= deadline:
                raise Unavailable("A transaction that writes events has not ended yet; try again in a few seconds.")
            await asyncio.sleep(_PAUSE_SECONDS)

    def saw(self, last: int, writers: frozenset[str]) -> int:
        """Take in one look, later than all before: the last id given out, and then who held the lock."""
        if last < self._last:
            self._decided = 0
            self._marks.clear()
        self._last = last
        prepared = {name for name in writers if name.startswith(_PREPARED)}
        for mark in self._marks:
            mark.writers = (mark.writers & writers) | prepared
        if len(self._marks) < _MOST_MARKS and (not self._marks or last > self._marks[-1].last):
            self._marks.append(_Mark(last, writers, time.monotonic()))
        for mark in reversed(self._marks):
            if not mark.writers:
                self._decided = max(self._decided, mark.last)
                break
        while self._marks and self._marks[0].last <= self._decided:
            self._marks.popleft()
        return self._decided


_PAUSE_SECONDS = 0.01
