"""Reading one job or some by their ids, their pods and their events. Lists are keyset pages over an index."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import Uuid, any_, bindparam, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from app.db import table
from app.jobs.models import JobPodRow
from app.jobs.transitions import job_events, jobs

job_pods = table(JobPodRow)

Row = dict[str, Any]

SHOWN = (
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
    *("cancel_reason", "spec", "state_since", "retries", "resumes", "retry_of", "progress"),
)
"""The columns of what a caller reads of a job, alone and in lists."""

_OF_ONE = (
    *("waiting_since", "waited_seconds", "run_started_at", "ran_seconds", "attempt_base", "open_parents"),
    "run_indices",
)
_SHOWN_COLUMNS = tuple(jobs.c[name] for name in SHOWN + _OF_ONE)

BLANK: Row = {
    **dict.fromkeys(("reason", "message", "cancel_reason", "submitted_at", "started_at", "ended_at")),
    **dict.fromkeys(("state_since", "retry_of", "progress", "run_indices")),
    **dict.fromkeys(("retries", "resumes"), 0),
    "counts": {},
    "attempt": 0,
    "open_parents": 0,
}
"""What a job has before anything happened to it."""


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


_USED = (
    *("uid", "name", "attempt", "task", "index", "phase", "node", "exit_code", "reason", "message", "resources"),
    *("created_at", "started_at", "ended_at", "gone_at"),
)


async def read_pods(session: AsyncSession, job_id: UUID) -> list[Any]:
    """Every pod of every attempt of a job, for what is told of the whole: where it is, and what it used."""
    rows = await session.execute(select(*(job_pods.c[name] for name in _USED)).where(job_pods.c.job_id == job_id))
    return list(rows)


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
