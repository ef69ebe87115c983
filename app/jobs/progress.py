"""What a worker says over HTTP of how far it is: written on its pod's row here, summed up by the controller."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, case, func, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Sessions, away_as_unavailable, table
from app.errors import Conflict, ValidationError
from app.jobs.models import JobPodRow
from app.jobs.progress_schemas import ProgressWrite
from app.jobs.unfinished import find_unfinished
from app.validation import invalid

CHANNEL = "pumice_progress"
"""Postgres channel that carries the ids of jobs whose workers spoke: look at them, but not at once."""

_ENDED = ("Succeeded", "Failed")

job_pods = table(JobPodRow)


async def write(sessions: Sessions, job_id: UUID, team: str | None, said: ProgressWrite) -> dict[str, Any]:
    """Note how far a worker is; returns what counts from now on.

    It is said of the newest pod of the task's index. Of a pod that has ended nothing less is believed than it said
    before, so that a request which comes late changes nothing.

    Raises:
        NotFound: there is no such job in `team` (None: any team).
        JobFinished: the job has ended.
        ValidationError: the job has no such task or index.
        Conflict: no pod of this index was seen yet.
    """
    with away_as_unavailable():
        async with sessions.begin() as session:
            row = await find_unfinished(session, job_id, team, lock=False)
            _check_place(row["spec"], said)
            written = await _write(session, job_id, said)
            if written is None:
                raise Conflict("No pod of this task and index was seen yet. Try again in a second.")
            await session.execute(select(func.pg_notify(CHANNEL, str(job_id))))
            return written


def _check_place(spec: Mapping[str, Any], said: ProgressWrite) -> None:
    """Refuse a task that the job does not have, an index that the task does not have, and more than everything."""
    task = next((task for task in spec["tasks"] if task["name"] == said.task), None)
    if task is None:
        raise ValidationError([invalid(["task"], "The job has no task of this name", "unknown-task")])
    if said.done > said.total:
        raise ValidationError([invalid(["done"], "More than the total cannot be done", "out-of-range")])
    most = (task.get("array") or {}).get("size") or task["replicas"]
    if said.index >= most:
        raise ValidationError([invalid(["index"], f"The last index of this task is {most - 1}", "out-of-range")])


async def _write(session: AsyncSession, job_id: UUID, said: ProgressWrite) -> dict[str, Any] | None:
    pods = job_pods.c
    newest = (
        select(pods.uid)
        .where(pods.job_id == job_id, pods.task == said.task, pods.index == said.index)
        .order_by(pods.attempt.desc(), pods.created_at.desc(), pods.uid.desc())
        .limit(1)
        .scalar_subquery()
    )
    before = pods.progress["done"].astext.cast(BigInteger)
    believed = or_(pods.phase.not_in(_ENDED), before.is_(None), before <= said.done)
    new = func.jsonb_build_object("done", said.done, "total", said.total, type_=JSONB)
    statement = (
        update(job_pods)
        .where(pods.uid == newest)
        .values(progress=case((believed, new), else_=pods.progress))
        .returning(pods.progress)
    )
    written: dict[str, Any] | None = (await session.execute(statement)).scalar_one_or_none()
    return written
