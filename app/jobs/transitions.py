"""The one way in which a job changes its state: guarded by the table of moves, with its event and its quota settled."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Float, Text, and_, case, cast, func, insert, literal, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import TIME, table
from app.jobs.models import JobDependencyRow, JobEventRow, JobRow
from app.jobs.states import TERMINAL, WAITING, JobState, sources_of
from app.teams.models import TeamUsageRow
from app.teams.quota import JOB_COUNT

jobs = table(JobRow)
job_events = table(JobEventRow)
job_dependencies = table(JobDependencyRow)
team_usage = table(TeamUsageRow)

CHANNEL = "pumice_jobs"
"""Postgres channel that carries the ids of jobs on which the controller should look; a hint, never the truth."""

ACCEPTED_CHANNEL = "pumice_jobs_accepted"
"""The same for jobs that were only accepted: there may be something to release, and nothing to look at yet."""

_FREE = TERMINAL | {JobState.SUSPENDED}
"""States in which a job is not counted into its team's usage (cases C-07 and Q-13)."""

Moment = datetime | ColumnElement[datetime]
"""A time that was read, or Postgres' own when the statement is carried out."""


async def move(
    session: AsyncSession,
    job_id: UUID,
    target: JobState,
    *,
    at: Moment,
    sources: Iterable[JobState] | None = None,
    lock_token: UUID | None = None,
    while_desired: str | None = None,
    reason: str | None = None,
    message: str | None = None,
    event: str = "state",
    **facts: Any,
) -> bool:
    """Move a job to `target` in the caller's transaction, and say whether it was moved.

    Nothing changes when the job is in none of `sources` (by default: the states that may become `target`), or when
    `lock_token` or `while_desired` is given and is not the row's. A terminal target sets `ended_at`, frees the quota
    and takes the job off the work list; a suspended job frees the quota too. `facts` are further columns to set.
    """
    allowed = sources_of(target) if sources is None else frozenset(sources) & sources_of(target)
    values: dict[str, Any] = {"state": target, "reason": reason, "message": message, "state_since": at, **facts}
    started_at = facts.get("run_started_at")
    if target not in WAITING or started_at is not None or "waiting_since" in facts:
        ended_at = facts.get("ended_at")
        until = next((each for each in (started_at, ended_at) if each is not None), at)
        values["waited_seconds"] = waited_until(until)
    if target in TERMINAL:
        values |= {"ended_at": facts.get("ended_at") or at, "due_at": None, "lock_token": None, "lock_expires_at": None}
    if target in _FREE:
        values["charged"] = False
    conditions = [jobs.c.id == job_id, jobs.c.state.in_(allowed)]
    if while_desired is not None:
        conditions.append(jobs.c.desired == while_desired)
    if lock_token is not None:
        conditions.append(jobs.c.lock_token == lock_token)
    before = select(jobs.c.id, jobs.c.charged).where(*conditions).with_for_update().cte("before")
    moved = (
        await session.execute(
            update(jobs)
            .where(jobs.c.id == before.c.id)
            .values(values)
            .returning(jobs.c.team, jobs.c.charges, before.c.charged)
        )
    ).one_or_none()
    if moved is None:
        return False
    if target in _FREE and moved.charged:
        await add_usage(session, moved.team, moved.charges, sign=-1)
    await record_event(session, job_id, moved.team, event, target, at=at, reason=reason, message=message)
    if target in TERMINAL:
        await _tell_dependents(session, job_id)
    return True


def waited_until(moment: Moment) -> ColumnElement[float]:
    """What a job has waited in all when its present waiting, if any, ends at a moment (case H-07).

    Waiting for other jobs is none, and neither is a run whose pods wait once more: its time runs on.
    """
    waits = and_(jobs.c.state.in_(WAITING), jobs.c.run_started_at.is_(None), jobs.c.open_parents == 0)
    since = func.coalesce(jobs.c.waiting_since, jobs.c.created_at)
    until = moment if isinstance(moment, ColumnElement) else literal(moment, TIME)
    seconds = func.greatest(0, cast(func.extract("epoch", until - since), Float))
    return jobs.c.waited_seconds + case((waits, seconds), else_=0)


async def _tell_dependents(session: AsyncSession, job_id: UUID) -> None:
    """Mark an ended job for which others wait, and wake the controller; they may be many, so it tells them.

    The job is locked `FOR UPDATE` by a statement before this one, so every job that was accepted to wait for it is
    seen: see `dependency_store`.
    """
    waiting = select(job_dependencies.c.job_id).where(
        job_dependencies.c.parent_id == job_id, job_dependencies.c.settled_at.is_(None)
    )
    due = (
        update(jobs)
        .where(jobs.c.id == job_id, waiting.exists())
        .values(dependents_due=True)
        .returning(jobs.c.id)
        .cte("due")
    )
    await session.execute(select(func.pg_notify(CHANNEL, due.c.id.cast(Text))))


async def record_event(
    session: AsyncSession,
    job_id: UUID,
    team: str,
    event: str,
    state: JobState,
    *,
    at: Moment,
    reason: str | None = None,
    message: str | None = None,
) -> None:
    """Write one line of the job's history."""
    await session.execute(
        insert(job_events).values(
            job_id=job_id, team=team, at=at, type=event, state=state, reason=reason, message=message
        )
    )


async def add_usage(session: AsyncSession, team: str, charges: dict[str, int], *, sign: int) -> None:
    """Add (`sign` 1) or take away (-1) one job's charges.

    Rows are touched in the order of their names, so that no two callers block each other for ever.
    """
    for resource, amount in sorted({**charges, JOB_COUNT: 1}.items()):
        statement = upsert(team_usage).values(team=team, resource=resource, used=sign * amount)
        if sign > 0:
            await session.execute(
                statement.on_conflict_do_update(
                    index_elements=[team_usage.c.team, team_usage.c.resource],
                    set_={"used": team_usage.c.used + amount},
                )
            )
        else:
            await session.execute(
                update(team_usage)
                .where(team_usage.c.team == team, team_usage.c.resource == resource)
                .values(used=team_usage.c.used - amount)
            )


async def notify(session: AsyncSession, job_id: UUID) -> None:
    """Tell the controller, when this transaction commits, to look at a job."""
    await session.execute(select(func.pg_notify(CHANNEL, str(job_id))))
