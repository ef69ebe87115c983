"""The statements of the release window: what is held, what is pending, and letting held jobs go.

Held jobs may be millions, so each statement reads the most urgent few of each queue by the index `ix_jobs_held`, and
what is pending by the indexes of states and of the work list.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import and_, any_, bindparam, func, insert, literal, or_, select, true, union_all, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.types import Uuid

from app.db import table
from app.jobs.states import Desired, Ending, JobState
from app.jobs.transitions import add_usage, job_events, jobs, move
from app.jobs.waiting import waited_too_long
from app.queues.models import QueueRow
from app.teams.models import TeamQuotaRow, TeamRow

team_quotas = table(TeamQuotaRow)
teams = table(TeamRow)
queues = table(QueueRow)

_HELD = (jobs.c.state == JobState.HELD) & jobs.c.released_at.is_(None) & (jobs.c.open_parents == 0)
"""Waiting for its release, and for no other job."""


_UNCHARGED = (jobs.c.state == JobState.HELD) & jobs.c.charged.is_(False) & (jobs.c.open_parents == 0)
"""Waiting for room in its team's quota, and for no other job."""


@dataclass(slots=True)
class Pending:
    """What of a queue is released and not yet running: Jobs, Jobs by user, and amounts by resource name."""

    jobs: int = 0
    users: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)


async def queues_with_held_jobs(session: AsyncSession) -> list[str]:
    """Names of the queues in which jobs wait for their release."""
    waiting = select(jobs.c.id).where(jobs.c.queue == queues.c.name, _HELD)
    return list((await session.execute(select(queues.c.name).where(waiting.exists()))).scalars())


async def read_held(session: AsyncSession, queues: Sequence[str], limit: int) -> list[Any]:
    """The most urgent `limit` held jobs of each queue, without those that wait for room in their team's quota."""
    wanted = bindparam("queues", list(queues), type_=ARRAY(jobs.c.queue.type))
    names = func.unnest(wanted).table_valued("name").render_derived()
    urgent = (
        select(jobs.c.id, jobs.c.queue, jobs.c.submitted_by, jobs.c.priority_rank, jobs.c.charges, jobs.c.reason)
        .where(_HELD, jobs.c.queue == names.c.name, jobs.c.charged, jobs.c.desired == Desired.RUN)
        .order_by(jobs.c.priority_rank.desc(), jobs.c.id)
        .limit(limit)
        .lateral("urgent")
    )
    return list(await session.execute(select(urgent).select_from(names).join(urgent, true())))


async def read_pending(session: AsyncSession) -> dict[str, Pending]:
    """What is released and not yet running, by queue."""
    columns = (jobs.c.queue, jobs.c.submitted_by, jobs.c.charges)
    sent = select(*columns).where(jobs.c.state.in_([JobState.SUBMITTING, JobState.PENDING]))
    due = select(*columns).where(
        jobs.c.due_at.is_not(None), jobs.c.state == JobState.HELD, jobs.c.released_at.is_not(None)
    )
    both = union_all(sent, due).subquery()
    shape = (both.c.queue, both.c.submitted_by, both.c.charges)
    grouped = select(*shape, func.count().label("amount")).group_by(*shape)
    found: dict[str, Pending] = {}
    for queue, user, charges, amount in await session.execute(grouped):
        pending = found.setdefault(queue, Pending())
        pending.jobs += amount
        pending.users[user] = pending.users.get(user, 0) + amount
        for resource, units in charges.items():
            pending.used[resource] = pending.used.get(resource, 0) + units * amount
    return found


async def mark_released(session: AsyncSession, ids: Sequence[UUID]) -> int:
    """Put held jobs on the work list, due at once, and return how many still were held."""
    if not ids:
        return 0
    released = (
        update(jobs)
        .where(_among(ids), _HELD, jobs.c.desired == Desired.RUN)
        .values(released_at=func.now(), due_at=func.now(), reason=None, message=None)
        .returning(jobs.c.id, jobs.c.team)
        .cte("released")
    )
    line = select(released.c.id, released.c.team, func.now(), literal("released"), literal(str(JobState.HELD)))
    history = insert(job_events).from_select(["job_id", "team", "at", "type", "state"], line).cte("history")
    counted: int = (await session.execute(select(func.count()).select_from(released).add_cte(history))).scalar_one()
    return counted


async def explain_waiting(session: AsyncSession, ids: Sequence[UUID], reason: str, message: str | None) -> None:
    """Write what held jobs wait for, where it is not written yet."""
    if ids:
        await session.execute(
            update(jobs)
            .where(_among(ids), _HELD, jobs.c.reason.is_distinct_from(reason))
            .values(reason=reason, message=message)
        )


async def teams_that_hold(session: AsyncSession) -> list[str]:
    """Teams with jobs that wait for room in their quota."""
    waiting = select(jobs.c.id).where(jobs.c.team == teams.c.name, _UNCHARGED)
    statement = select(teams.c.name).where(waiting.exists()).order_by(teams.c.name)
    return list((await session.execute(statement)).scalars())


async def read_uncharged(session: AsyncSession, team: str, limit: int, behind: Any = None) -> list[Any]:
    """The most urgent jobs of a team that wait for room in its quota, or those behind one of them."""
    statement = (
        select(jobs.c.id, jobs.c.priority_rank, jobs.c.charges)
        .where(jobs.c.team == team, _UNCHARGED, jobs.c.desired == Desired.RUN)
        .order_by(jobs.c.priority_rank.desc(), jobs.c.id)
        .limit(limit)
    )
    if behind is not None:
        later = and_(jobs.c.priority_rank == behind.priority_rank, jobs.c.id > behind.id)
        statement = statement.where(or_(jobs.c.priority_rank < behind.priority_rank, later))
    return list(await session.execute(statement))


async def charge(session: AsyncSession, team: str, job_id: UUID, charges: dict[str, int], reason: str) -> bool:
    """Count a held job into its team's usage, under the team's lock; False when it is held no more."""
    charged = await session.execute(
        update(jobs)
        .where(jobs.c.id == job_id, _UNCHARGED)
        .values(charged=True, reason=reason, message=None)
        .returning(jobs.c.id)
    )
    if charged.scalar_one_or_none() is None:
        return False
    await add_usage(session, team, charges, sign=1)
    return True


async def expired(session: AsyncSession, limit: int) -> list[Any]:
    """Jobs that never reached the cluster within their `queue_timeout_seconds`: id and spec."""
    statement = (
        select(jobs.c.id, jobs.c.spec["queue_timeout_seconds"].as_integer().label("seconds"))
        .where(
            jobs.c.queue_deadline_at <= func.now(),
            jobs.c.open_parents == 0,
            jobs.c.ended_at.is_(None),
            jobs.c.state == JobState.HELD,
            jobs.c.desired == Desired.RUN,
        )
        .order_by(jobs.c.queue_deadline_at)
        .limit(limit)
    )
    return list(await session.execute(statement))


async def expire(session: AsyncSession, job_id: UUID, seconds: int) -> bool:
    """End a held job whose time to wait is over; False when it is held no more."""
    return await move(
        session,
        job_id,
        JobState.FAILED,
        at=func.now(),
        sources=[JobState.HELD],
        while_desired=Desired.RUN,
        reason=Ending.QUEUE_TIMEOUT,
        message=waited_too_long(seconds),
    )


def _among(ids: Sequence[UUID]) -> Any:
    return jobs.c.id == any_(bindparam("ids", list(ids), type_=ARRAY(Uuid)))
