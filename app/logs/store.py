"""Reading what the database knows of a job's pods and of their logs."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import select, tuple_
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncSession

from app.jobs import log_tails
from app.jobs.store import job_pods
from app.jobs.transitions import jobs
from app.logs.choosing import JobFacts, PodFacts, job_facts

_FACTS = ("uid", "name", "task", "index", "attempt", "phase", "node", "reason")


async def find_job(session: AsyncSession, job_id: UUID, team: str | None) -> JobFacts | None:
    """A job; None when there is none, or it belongs to another team than `team` (None: any team)."""
    columns = (jobs.c[name] for name in ("k8s_namespace", "state", "reason", "attempt", "spec"))
    statement = select(*columns).where(jobs.c.id == job_id)
    if team is not None:
        statement = statement.where(jobs.c.team == team)
    row = (await session.execute(statement)).mappings().one_or_none()
    return None if row is None else job_facts(dict(row))


async def latest_pods(
    session: AsyncSession, job_id: UUID, replicas: Collection[tuple[str, int]], attempt: int | None
) -> list[PodFacts]:
    """The newest pod of each of some replicas, of one attempt or of any, by task and index."""
    pods = job_pods.c
    statement = (
        select(*(pods[name] for name in _FACTS), pods.gone_at.is_not(None).label("gone"))
        .ext(distinct_on(pods.task, pods.index))
        .where(pods.job_id == job_id, tuple_(pods.task, pods.index).in_(sorted(replicas)))
        .order_by(pods.task, pods.index, pods.attempt.desc(), pods.created_at.desc(), pods.uid)
    )
    if attempt is not None:
        statement = statement.where(pods.attempt == attempt)
    return [PodFacts(**row) for row in (await session.execute(statement)).mappings()]


async def kept_tail(session: AsyncSession, uid: str) -> Any | None:
    """The kept end of a pod's log, with `text`, `container` and `truncated`; None when nothing was kept."""
    found = await log_tails.find(session, uid)
    return found if found is not None and (found.text or not found.truncated) else None
