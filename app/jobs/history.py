"""Reading and writing what the controller sees of jobs: their state, their pods, and each change as one event.

A write says from which state it was decided; when the row has another state by then, nothing is written.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Uuid, and_, any_, bindparam, func, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import table
from app.jobs.models import JobPodRow
from app.jobs.states import STOPPING, TERMINAL, Desired, JobState
from app.jobs.transitions import jobs, move, record_event, waited_until

job_pods = table(JobPodRow)

_READ = (
    *(
        "id",
        "team",
        "name",
        "queue",
        "k8s_namespace",
        "k8s_name",
        "spec",
        "desired",
        "state",
        "reason",
        "message",
        "counts",
    ),
    *("attempt", "k8s_uid", "lock_token", "lock_expires_at", "submitted_at", "started_at", "ended_at"),
    *(
        "recorded_at",
        "cleaned_at",
        "attempt_base",
        "whole_base",
        "run_indices",
        "ending",
        "retries",
        "resumes",
        "run_started_at",
    ),
    *("ran_seconds", "queue_deadline_at", "progress"),
    *("priority", "labels", "retired_labels", "alignment_due"),
)


async def read_jobs(session: AsyncSession, ids: Sequence[UUID]) -> tuple[dict[UUID, Any], datetime]:
    """The rows of some jobs by id, and Postgres's present moment."""
    statement = select(*(jobs.c[name] for name in _READ), func.now().label("read_at")).where(_among(jobs.c.id, ids))
    rows: dict[UUID, Any] = {row.id: row for row in await session.execute(statement)}
    read_at: datetime = next(iter(rows.values())).read_at if rows else await _now(session)
    return rows, read_at


async def _now(session: AsyncSession) -> datetime:
    moment: datetime = (await session.execute(select(func.now()))).scalar_one()
    return moment


async def read_pods(session: AsyncSession, ids: Iterable[UUID]) -> dict[UUID, list[Any]]:
    """The recorded pods of some jobs, by the job's id."""
    found: dict[UUID, list[Any]] = {}
    for row in await session.execute(select(job_pods).where(_among(job_pods.c.job_id, ids))):
        found.setdefault(row.job_id, []).append(row)
    return found


async def record_state(
    session: AsyncSession, before: Any, target: JobState, *, at: datetime, facts: Mapping[str, Any]
) -> bool:
    """Write what was decided about a job, and say whether it was still as it was read.

    Args:
        session: the caller's transaction.
        before: the row that the decision was made from.
        target: its state from now on, which may be the same.
        at: the moment of the event.
        facts: further columns; `reason` and `message` among them.
    """
    values = dict(facts)
    if values.get("k8s_uid") is not None:
        # seen in the cluster: nobody has to claim it any more, also when its claim was put back to be tried again
        values |= {"lock_token": None, "lock_expires_at": None, "due_at": None}
    if target == before.state:
        return await _same_state(session, before, values, at)
    lock = {name: values.pop(name) for name in ("lock_token", "lock_expires_at", "due_at") if name in values}
    reason, message = values.pop("reason", before.reason), values.pop("message", before.message)
    moved = await move(
        session,
        before.id,
        target,
        at=at,
        sources=[before.state],
        while_desired=before.desired,
        reason=reason,
        message=message,
        **values,
    )
    if moved and lock and target not in TERMINAL:
        await session.execute(update(jobs).where(jobs.c.id == before.id).values(lock))
    return moved


async def _same_state(session: AsyncSession, before: Any, values: dict[str, Any], at: datetime) -> bool:
    if not values:
        return True
    if values.get("run_started_at") is not None:
        values["waited_seconds"] = waited_until(values["run_started_at"])
    written = await session.execute(
        update(jobs)
        .where(jobs.c.id == before.id, jobs.c.state == before.state, jobs.c.desired == before.desired)
        .values(values)
        .returning(jobs.c.id)
    )
    if written.scalar_one_or_none() is None:
        return False
    reason, attempt = values.get("reason", before.reason), values.get("attempt", before.attempt)
    if reason != before.reason or attempt > before.attempt:
        event = "attempt" if attempt > before.attempt else "reason"
        message = values.get("message", before.message)
        await record_event(session, before.id, before.team, event, before.state, at=at, reason=reason, message=message)
    return True


async def record_cleaning(session: AsyncSession, job_id: UUID, *, recorded: bool, cleaned: bool) -> None:
    """Note that an ended job's Volcano Job lost our finalizer, or is gone."""
    noted = [name for name, wanted in (("recorded_at", recorded), ("cleaned_at", cleaned)) if wanted]
    await session.execute(
        update(jobs)
        .where(jobs.c.id == job_id, jobs.c.ended_at.is_not(None))
        .values({name: func.coalesce(jobs.c[name], func.now()) for name in noted})
    )


async def record_alignment(session: AsyncSession, row: Any) -> None:
    """Note that the Volcano Job shows what its owner wanted when the row was read; a change since then is still due."""
    await session.execute(
        update(jobs)
        .where(
            jobs.c.id == row.id,
            jobs.c.priority == row.priority,
            jobs.c.labels == row.labels,
            jobs.c.retired_labels == row.retired_labels,
        )
        .values(alignment_due=False)
    )


async def record_pods(session: AsyncSession, pods: Sequence[Mapping[str, Any]]) -> None:
    """Write pods as last seen, all columns of each."""
    if not pods:
        return
    await session.execute(_UPSERT_POD, [dict(pod) for pod in sorted(pods, key=lambda pod: str(pod["uid"]))])


def _upsert_pod() -> Any:
    statement = upsert(job_pods)
    changing: dict[str, Any] = {
        column.name: statement.excluded[column.name]
        for column in job_pods.columns
        if column.name not in {"uid", "job_id"}
    }
    # null is no news: what a worker wrote over HTTP since the row was read must not get lost
    changing["progress"] = func.coalesce(statement.excluded.progress, job_pods.c.progress)
    return statement.on_conflict_do_update(index_elements=[job_pods.c.uid], set_=changing)


_UPSERT_POD = _upsert_pod()


async def live_ids(session: AsyncSession, after: UUID | None, limit: int) -> list[UUID]:
    """Ids of jobs on which the controller has to look: sent to the cluster, or resumed; a page behind `after`."""
    states = [JobState.SUBMITTING, JobState.PENDING, JobState.RUNNING, *sorted(STOPPING)]
    resumed = and_(jobs.c.state == JobState.SUSPENDED, jobs.c.desired == Desired.RUN)
    statement = select(jobs.c.id).where(or_(jobs.c.state.in_(states), resumed)).order_by(jobs.c.id).limit(limit)
    if after is not None:
        statement = statement.where(jobs.c.id > after)
    return list((await session.execute(statement)).scalars())


async def uncleaned_ids(session: AsyncSession, ended_after: datetime | None, limit: int) -> list[tuple[UUID, datetime]]:
    """Ended jobs whose Volcano Job was not yet seen to be gone, the longest ended first, with when they ended."""
    statement = (
        select(jobs.c.id, jobs.c.ended_at)
        .where(jobs.c.ended_at.is_not(None), jobs.c.k8s_uid.is_not(None), jobs.c.cleaned_at.is_(None))
        .order_by(jobs.c.ended_at)
        .limit(limit)
    )
    if ended_after is not None:
        statement = statement.where(jobs.c.ended_at > ended_after)
    return [(row.id, row.ended_at) for row in await session.execute(statement)]


async def stopping_ids(session: AsyncSession) -> list[UUID]:
    """Ids of jobs that are being cancelled or suspended."""
    return list((await session.execute(select(jobs.c.id).where(jobs.c.state.in_(sorted(STOPPING))))).scalars())


async def known_ids(session: AsyncSession, ids: Sequence[UUID]) -> set[UUID]:
    """Those of the ids that some row has."""
    return set((await session.execute(select(jobs.c.id).where(_among(jobs.c.id, ids)))).scalars())


def _among(column: Any, ids: Iterable[UUID]) -> Any:
    """A condition that is the same statement for any number of ids, so that it is prepared once."""
    return column == any_(bindparam("ids", list(ids), type_=ARRAY(Uuid)))
