"""The statements of the controller that tell jobs when others, for which they wait, have ended.

Work is found by the mark that an ended job carries (`dependents_due`); what is done is read from the links and states
as they are, so that it may be done again. No circle of waiting is possible: a team's usage is locked as a
whole and first, and jobs only when nobody else holds them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Float,
    Integer,
    Select,
    Text,
    Uuid,
    any_,
    bindparam,
    case,
    cast,
    column,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession

from app.jobs.dependencies import WAITING_FOR_DEPENDENCIES, Condition, Link, Otherwise, Verdict
from app.jobs.states import JobState
from app.jobs.transitions import job_dependencies, job_events, jobs, team_usage


async def teams_with_due(session: AsyncSession) -> list[str]:
    """Teams with ended jobs for which others wait that do not know yet."""
    return list((await session.execute(select(jobs.c.team).where(jobs.c.dependents_due).distinct())).scalars())


async def read_due(session: AsyncSession, team: str, limit: int) -> list[UUID]:
    """Ended jobs of a team for which others wait that do not know yet, the oldest first."""
    return list((await session.execute(due_statement(team, limit))).scalars())


def due_statement(team: str, limit: int) -> Select[Any]:
    """The statement behind `read_due`; tests look at its plan."""
    due = select(jobs.c.id).where(jobs.c.dependents_due, jobs.c.team == team)
    return due.order_by(jobs.c.team, jobs.c.id).limit(limit)


async def lock_dependents(session: AsyncSession, parents: Sequence[UUID], limit: int) -> dict[UUID, JobState]:
    """Lock up to `limit` jobs that wait for one of the parents and are held by nobody else, and read their states."""
    rows = await session.execute(dependents_statement(parents, limit))
    return {row.id: JobState(row.state) for row in rows}


def dependents_statement(parents: Sequence[UUID], limit: int) -> Select[Any]:
    """The statement behind `lock_dependents`; tests look at its plan."""
    waiting = (
        select(job_dependencies.c.job_id)
        .where(_among(job_dependencies.c.parent_id, parents), job_dependencies.c.settled_at.is_(None))
        .distinct()
        .limit(limit)
    )
    return select(jobs.c.id, jobs.c.state).where(jobs.c.id.in_(waiting)).with_for_update(skip_locked=True)


async def read_open_links(session: AsyncSession, ids: Collection[UUID]) -> dict[UUID, list[Link]]:
    """What jobs wait for, by the job's id, each in its order, without what is settled."""
    found: dict[UUID, list[Link]] = {}
    for row in await session.execute(links_statement(ids)):
        condition, otherwise = Condition(row.condition), Otherwise(row.otherwise)
        link = Link(row.place, row.parent_id, row.name, JobState(row.state), condition, otherwise)
        found.setdefault(row.job_id, []).append(link)
    return found


def links_statement(ids: Collection[UUID]) -> Select[Any]:
    """The statement behind `read_open_links`; tests look at its plan."""
    parents = jobs.alias("parents")
    return (
        select(job_dependencies, parents.c.name, parents.c.state)
        .join(parents, parents.c.id == job_dependencies.c.parent_id)
        .where(_among(job_dependencies.c.job_id, ids), job_dependencies.c.settled_at.is_(None))
        .order_by(job_dependencies.c.job_id, job_dependencies.c.place)
    )


async def settle(session: AsyncSession, links: Sequence[tuple[UUID, int]]) -> None:
    """Note that the end of these parents was taken into account, each by the job that waited and its place there."""
    if not links:
        return
    arrays = (
        bindparam("jobs", [job_id for job_id, _ in links], type_=ARRAY(Uuid)),
        bindparam("places", [place for _, place in links], type_=ARRAY(Integer)),
    )
    given = func.unnest(*arrays).table_valued(column("job_id", Uuid), column("place", Integer), name="given")
    given = given.render_derived()
    await session.execute(
        update(job_dependencies)
        .where(job_dependencies.c.job_id == given.c.job_id, job_dependencies.c.place == given.c.place)
        .values(settled_at=func.now())
    )


async def tell_waiting(session: AsyncSession, verdicts: Mapping[UUID, Verdict]) -> None:
    """Write how many jobs others still wait for; those that are on hold keep their own reason."""
    if not verdicts:
        return
    arrays = (
        bindparam("ids", list(verdicts), type_=ARRAY(Uuid)),
        bindparam("opens", [verdict.open for verdict in verdicts.values()], type_=ARRAY(Integer)),
        bindparam("words", [verdict.message for verdict in verdicts.values()], type_=ARRAY(Text)),
    )
    columns = (column("id", Uuid), column("open", Integer), column("message", Text))
    given = func.unnest(*arrays).table_valued(*columns, name="given").render_derived()
    held = jobs.c.state == JobState.HELD
    await session.execute(
        update(jobs)
        .where(jobs.c.id == given.c.id)
        .values(
            open_parents=given.c.open,
            reason=case((held, WAITING_FOR_DEPENDENCIES), else_=jobs.c.reason),
            message=case((held, given.c.message), else_=jobs.c.message),
        )
    )


_QUEUE_DEADLINE = func.now() + func.make_interval(
    0, 0, 0, 0, 0, 0, cast(jobs.c.spec["queue_timeout_seconds"].astext, Float)
)
"""Null without a limit. Its time begins when a job waits for no other."""


async def let_go(session: AsyncSession, ids: Sequence[UUID], *, charged: str, uncharged: tuple[str, str]) -> None:
    """Let jobs wait for their release, or for room in their team's quota, now that they wait for no other.

    Args:
        session: the caller's transaction, which has locked them.
        ids: of the jobs.
        charged: the reason of those that stand in their team's usage.
        uncharged: the reason and the message of the others.
    """
    if not ids:
        return
    held = jobs.c.state == JobState.HELD
    freed = (
        update(jobs)
        .where(_among(jobs.c.id, ids))
        .values(
            open_parents=0,
            waiting_since=case((held, func.now()), else_=jobs.c.waiting_since),
            queue_deadline_at=case((held, _QUEUE_DEADLINE), else_=jobs.c.queue_deadline_at),
            reason=case((held & jobs.c.charged, charged), (held, uncharged[0]), else_=jobs.c.reason),
            message=case((held & jobs.c.charged, None), (held, uncharged[1]), else_=jobs.c.message),
        )
        .returning(jobs.c.id, jobs.c.team, jobs.c.state, jobs.c.reason, jobs.c.message)
        .cte("freed")
    )
    line = select(
        freed.c.id, freed.c.team, func.now(), literal("reason"), freed.c.state, freed.c.reason, freed.c.message
    )
    columns = ["job_id", "team", "at", "type", "state", "reason", "message"]
    await session.execute(
        insert(job_events).from_select(columns, line.where(freed.c.state == JobState.HELD)).add_cte(freed)
    )


async def lock_usage(session: AsyncSession, team: str) -> None:
    """Lock a team's whole usage in the order in which everybody does, before several jobs change it one by one."""
    await session.execute(
        select(team_usage.c.resource)
        .where(team_usage.c.team == team)
        .order_by(team_usage.c.resource)
        .with_for_update(key_share=True)
    )


async def clear_due(session: AsyncSession, parents: Sequence[UUID]) -> None:
    """Forget those ended parents for which nobody waits any more."""
    waiting = select(job_dependencies.c.job_id).where(
        job_dependencies.c.parent_id == jobs.c.id, job_dependencies.c.settled_at.is_(None)
    )
    done = (
        select(jobs.c.id)
        .where(_among(jobs.c.id, parents), jobs.c.dependents_due, ~waiting.exists())
        .with_for_update(key_share=True, skip_locked=True)
    )
    await session.execute(update(jobs).where(jobs.c.id.in_(done)).values(dependents_due=False))


async def mark_missed(session: AsyncSession) -> int:
    """Mark ended jobs for which others still wait, should the mark of their end be missing; how many there were."""
    awaited = select(job_dependencies.c.parent_id).where(job_dependencies.c.settled_at.is_(None))
    missed = (
        select(jobs.c.id)
        .where(jobs.c.id.in_(awaited), jobs.c.ended_at.is_not(None), ~jobs.c.dependents_due)
        .with_for_update(key_share=True, skip_locked=True)
    )
    marked = await session.execute(
        update(jobs).where(jobs.c.id.in_(missed)).values(dependents_due=True).returning(jobs.c.id)
    )
    return len(marked.all())


def _among(column_: Any, ids: Collection[UUID]) -> Any:
    """A condition that is the same statement for any number of ids, so that it is prepared once."""
    return column_ == any_(bindparam(None, list(ids), type_=ARRAY(Uuid)))
