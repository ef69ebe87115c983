"""The kept ends of pods' logs: written by the controller, read by the API."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import case, func, literal, or_, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import table
from app.jobs.models import JobLogTailRow
from app.jobs.transitions import jobs

log_tails = table(JobLogTailRow)

_LOCKS = 0x6C6F6773
"""Space of our advisory locks: `logs`."""


async def find(session: AsyncSession, uid: str) -> Any | None:
    """The kept end of a pod's log."""
    return (await session.execute(select(log_tails).where(log_tails.c.uid == uid))).one_or_none()


async def is_wanted(session: AsyncSession, job_id: UUID, uid: str) -> bool:
    """Whether the job is known and something is left to keep of this pod's log."""
    kept = select(log_tails.c.uid).where(log_tails.c.uid == uid, log_tails.c.complete).exists()
    return (await session.execute(select(jobs.c.id).where(jobs.c.id == job_id, ~kept))).first() is not None


async def keep(session: AsyncSession, tail: Mapping[str, Any], *, most: int) -> None:
    """Keep the end of a log in the place of an earlier reading; above `most` bytes of the job only that it was long.

    The pod stays known as kept without its text, so that it is not read again.
    """
    job_id: UUID = tail["job_id"]
    # one pod of a job after the other, or each would count without the others
    await session.execute(select(func.pg_advisory_xact_lock(_LOCKS, func.hashtext(str(job_id)))))
    others = log_tails.c.job_id == job_id, log_tails.c.uid != tail["uid"]
    used = select(func.coalesce(func.sum(log_tails.c.size), 0)).where(*others).scalar_subquery()
    fits = used + tail["size"] <= most
    exists = select(
        *(literal(tail[name], log_tails.c[name].type).label(name) for name in ("uid", "job_id", "container")),
        case((fits, literal(tail["text"], log_tails.c.text.type)), else_=literal(b"", log_tails.c.text.type)),
        case((fits, tail["size"]), else_=0),
        case((fits, literal(tail["truncated"])), else_=True),
        literal(tail["complete"]),
        func.now(),
    ).where(jobs.c.id == job_id)
    names = ["uid", "job_id", "container", "text", "size", "truncated", "complete", "read_at"]
    statement = upsert(log_tails).from_select(names, exists)
    changing = {name: statement.excluded[name] for name in names if name not in {"uid", "job_id"}}
    better = or_(statement.excluded.complete, log_tails.c.complete.is_(False))
    await session.execute(
        statement.on_conflict_do_update(index_elements=[log_tails.c.uid], set_=changing, where=better)
    )
