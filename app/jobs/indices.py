"""What became of each index of a job's tasks, whichever pods and attempts it took. Pure, but for one statement."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncSession

from app.jobs import gang
from app.jobs.attempts import KILLED
from app.jobs.schemas import JobCreate
from app.jobs.states import TERMINAL, JobState
from app.jobs.store import job_pods
from app.jobs.transitions import jobs

Key = tuple[str, int]


class IndexState(StrEnum):
    """Where an index is."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


_OF_PHASES = {
    "Running": IndexState.RUNNING,
    "Unknown": IndexState.RUNNING,
    "Succeeded": IndexState.SUCCEEDED,
    "Failed": IndexState.FAILED,
}


@dataclass(frozen=True, slots=True)
class IndexView:
    """One index of a task.

    Attributes:
        state: `stopped` is an index of an ended job that had not ended itself.
        attempts: pods that it took so far; those that never started are among them.
    """

    task: str
    index: int
    state: IndexState
    attempts: int = 0
    pod: str | None = None
    node: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


async def newest_pods(session: AsyncSession, job_id: UUID) -> list[Any]:
    """The newest pod of each task and index, one that succeeded before any other, with how many there were.

    Pods from before the whole job last began anew say nothing any more.
    """
    pods = job_pods.c
    key = (pods.task, pods.index)
    newest = (
        select(*pods, func.count().over(partition_by=key).label("attempts"))
        .join(jobs, jobs.c.id == pods.job_id)
        .where(pods.job_id == job_id, pods.attempt > jobs.c.whole_base)
        .ext(distinct_on(*key))
        .order_by(*key, (pods.phase == "Succeeded").desc(), pods.created_at.desc(), pods.uid.desc())
    )
    return list(await session.execute(newest))


def views(spec: Mapping[str, Any], state: JobState, pods: Iterable[Any]) -> list[IndexView]:
    """Every index of a job, in the order of its tasks.

    Args:
        spec: as stored.
        state: of the job.
        pods: what `newest_pods` gave.
    """
    ended = state in TERMINAL
    by_key = {(pod.task, pod.index): pod for pod in pods}
    return [_view(key, by_key.get(key), ended=ended) for key in keys(spec)]


def keys(spec: Mapping[str, Any]) -> Iterator[Key]:
    """The task and the index of every pod that a job is to have."""
    job = JobCreate.model_validate(spec)
    for name, task in zip(gang.task_names(job), job.tasks, strict=True):
        for index in gang.indices(task):
            yield name, index


def _view(key: Key, pod: Any, *, ended: bool) -> IndexView:
    rests = IndexState.STOPPED if ended else IndexState.PENDING
    if pod is None:
        return IndexView(*key, rests)
    state = _OF_PHASES.get(pod.phase, rests)
    if pod.reason == KILLED or (state is IndexState.RUNNING and (ended or pod.gone_at is not None)):
        state = rests
    return IndexView(
        *key,
        state,
        attempts=pod.attempts,
        pod=pod.name,
        node=pod.node,
        exit_code=pod.exit_code,
        reason=pod.reason,
        started_at=pod.started_at,
        ended_at=pod.ended_at,
    )
