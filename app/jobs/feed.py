"""Reading events in their order, from a position on, without a gap or a repeat.

The order is that of their ids, and a position is the last id that its owner has dealt with. It means the same in every
process and at any later time. Readers take `until` from a `Horizon`: behind it an event may still appear.
"""

from collections.abc import Collection
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import InvalidCursor
from app.jobs.states import JobState
from app.jobs.store import Row
from app.jobs.transitions import job_events

Position: TypeAlias = int
"""The last id that was dealt with, or a larger one up to which there was nothing more; 0 is before all."""

BEGINNING: Position = 0
_LARGEST = 2**63 - 1
_MOST_DIGITS = 19
MOST_SCANNED = 10_000
"""Events that one read of a filtered feed looks at. Rare types and states have no index of their own."""

_COLUMNS = tuple(job_events.c[name] for name in ("id", "job_id", "team", "at", "type", "state", "reason", "message"))


def position_of(text: str) -> Position:
    """A position from its text.

    Raises:
        InvalidCursor: it is none.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and int(text) <= _LARGEST):
        raise InvalidCursor("The position is not one that this feed gave out.")
    return int(text)


async def read_after(
    session: AsyncSession,
    position: Position,
    *,
    until: Position,
    limit: int,
    team: str | None = None,
    job_id: UUID | None = None,
    types: Collection[str] = (),
    states: Collection[JobState] = (),
) -> tuple[list[Row], Position]:
    """The next events behind a position, and the position behind them.

    Args:
        session: any; each statement must see what was committed before it (READ COMMITTED or no transaction at all).
        position: where the last read ended.
        until: as far as everything is decided, from `Horizon.look` before this.
        limit: at most so many events. With `types` or `states` there may be fewer, and none, although more follow:
            one read looks at `MOST_SCANNED` events.
        team: only this team's.
        job_id: only this job's.
        types: only these; empty means all.
        states: only these; empty means all.

    Returns:
        Events by rising ids, and the position for the next read, which is `until` when there is nothing more before it.
    """
    scope = scope_statement(position, until=until, team=team, job_id=job_id)
    if not types and not states:
        rows = [dict(row) for row in (await session.execute(scope.limit(limit))).mappings()]
        return rows, rows[-1]["id"] if len(rows) == limit else max(position, until)
    scanned = scope.limit(MOST_SCANNED).cte("scanned")
    wanted: list[ColumnElement[bool]] = []
    if types:
        wanted.append(scanned.c.type.in_(sorted(set(types))))
    if states:
        wanted.append(scanned.c.state.in_(sorted(set(states))))
    found = await session.execute(select(scanned).where(*wanted).order_by(scanned.c.id).limit(limit))
    rows = [dict(row) for row in found.mappings()]
    if len(rows) == limit:
        return rows, rows[-1]["id"]
    seen, last = (await session.execute(select(func.count(), func.max(scanned.c.id)))).one()
    return rows, last if seen == MOST_SCANNED else max(position, until)


def scope_statement(
    position: Position, *, until: Position, team: str | None = None, job_id: UUID | None = None
) -> Select[Any]:
    """The statement behind `read_after`, without its limit; tests look at its plans."""
    conditions = [job_events.c.id > position, job_events.c.id <= until]
    if team is not None:
        conditions.append(job_events.c.team == team)
    if job_id is not None:
        conditions.append(job_events.c.job_id == job_id)
    return select(*_COLUMNS).where(*conditions).order_by(job_events.c.id)
