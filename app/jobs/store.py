"""Reading jobs, their pods and their events. Lists are keyset pages over an index; nothing is counted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Uuid, any_, bindparam, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from app.db import table
from app.jobs.models import JobPodRow
from app.jobs.states import JobState
from app.jobs.transitions import job_events, jobs

job_pods = table(JobPodRow)

Row = dict[str, Any]

_SHOWN = (
    *(
        "id",
        "name",
        "team",
        "queue",
        "priority",
        "state",
        "reason",
        "message",
        "counts",
        "attempt",
        "charges",
        "labels",
    ),
    *("submitted_by", "k8s_namespace", "k8s_name", "created_at", "submitted_at", "started_at", "ended_at"),
    *("cancel_reason", "spec", "progress", "run_indices", "retry_of"),
)
_SHOWN_COLUMNS = tuple(jobs.c[name] for name in _SHOWN)

BLANK: Row = {
    **dict.fromkeys(("reason", "message", "cancel_reason", "submitted_at", "started_at", "ended_at", "run_indices")),
    "retry_of": None,
    "progress": None,
    "counts": {},
    "attempt": 0,
    "open_parents": 0,
}
"""What a job has before anything happened to it."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a list shows; None and empty leave a member out. `teams` are all to which a job must belong."""

    teams: frozenset[str] = frozenset()
    states: Sequence[JobState] = ()
    queue: str | None = None
    name: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    submitted_by: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None


async def find(
    session: AsyncSession | AsyncConnection, job_id: UUID, team: str | None, *, lock: bool = False
) -> Row | None:
    """A job by its id; None when there is none, or it belongs to another team than `team` (None: any team).

    Args:
        session: the caller's transaction.
        job_id: the job's id.
        team: of the caller.
        lock: hold the row until the transaction ends, and read the controller's columns too.
    """
    columns = jobs.c if lock else _SHOWN_COLUMNS
    statement = select(*columns).where(jobs.c.id == job_id)
    if team is not None:
        statement = statement.where(jobs.c.team == team)
    found = await session.execute(statement.with_for_update() if lock else statement)
    row = found.mappings().one_or_none()
    return None if row is None else dict(row)


async def find_all(session: AsyncSession, ids: Collection[UUID]) -> dict[UUID, Row]:
    """Jobs by their ids, those that are there."""
    wanted = any_(bindparam("ids", list(ids), type_=ARRAY(Uuid)))
    found = await session.execute(select(*_SHOWN_COLUMNS).where(jobs.c.id == wanted))
    return {row["id"]: dict(row) for row in found.mappings()}


async def list_jobs(
    session: AsyncSession, wanted: JobFilter, *, newest_first: bool, after: UUID | None, limit: int
) -> list[Row]:
    """Up to `limit` jobs behind the id `after`; ids sort by the time of creation."""
    rows = await session.execute(list_statement(wanted, newest_first=newest_first, after=after, limit=limit))
    return [dict(row) for row in rows.mappings()]


def list_statement(wanted: JobFilter, *, newest_first: bool, after: UUID | None, limit: int) -> Select[Any]:
    """The statement behind `list_jobs`; tests look at its plans."""
    conditions = _conditions(wanted)
    if after is not None:
        conditions.append(jobs.c.id < after if newest_first else jobs.c.id > after)
    order = jobs.c.id.desc() if newest_first else jobs.c.id
    return select(*_SHOWN_COLUMNS).where(*conditions).order_by(order).limit(limit)


def _conditions(wanted: JobFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [jobs.c.team == team for team in sorted(wanted.teams)]
    if wanted.states:
        conditions.append(jobs.c.state.in_(sorted(set(wanted.states))))
    if wanted.labels:
        conditions.append(jobs.c.labels.contains(wanted.labels))
    for column, value in (("queue", wanted.queue), ("name", wanted.name), ("submitted_by", wanted.submitted_by)):
        if value is not None:
            conditions.append(jobs.c[column] == value)
    # a job's id begins with its time, so both bounds are bounds of the id and every index that ends in it serves them
    if wanted.created_after is not None:
        conditions.append(jobs.c.id >= first_id_at(wanted.created_after))
    if wanted.created_before is not None:
        conditions.append(jobs.c.id < first_id_at(wanted.created_before))
    return conditions


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def first_id_at(moment: datetime) -> UUID:
    """The least UUIDv7 of the first whole millisecond at or after a moment (RFC 9562, 5.7)."""
    age = moment - _EPOCH
    microseconds = (age.days * 86_400 + age.seconds) * 1_000_000 + age.microseconds
    milliseconds = max(0, -(-microseconds // 1000))
    return UUID(int=milliseconds << 80)


async def list_pods(
    session: AsyncSession, job_id: UUID, *, after: tuple[int, str, str] | None, limit: int
) -> list[Row]:
    """Up to `limit` pods of a job behind (attempt, name, uid), which is also their order."""
    pods = job_pods.c
    key = tuple_(pods.attempt, pods.name, pods.uid)
    statement = select(*(column for column in pods if column.name != "job_id")).where(pods.job_id == job_id)
    if after is not None:
        statement = statement.where(key > after)
    rows = await session.execute(statement.order_by(pods.attempt, pods.name, pods.uid).limit(limit))
    return [dict(row) for row in rows.mappings()]


async def list_events(session: AsyncSession, job_id: UUID, *, after: int, limit: int) -> list[Row]:
    """Up to `limit` events of a job with an id above `after`, oldest first."""
    events = job_events.c
    statement = (
        select(
            events.id, events.job_id, events.team, events.at, events.type, events.state, events.reason, events.message
        )
        .where(events.job_id == job_id, events.id > after)
        .order_by(events.id)
        .limit(limit)
    )
    rows = await session.execute(statement)
    return [dict(row) for row in rows.mappings()]
