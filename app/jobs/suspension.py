"""Suspending and resuming a job: the wish is written down here, the controller carries it out.

A suspended job gives back its quota; what it had finished stays finished. It goes on with a Volcano Job of its own,
because every resume of Volcano's uses up a retry (volcano-facts 2.6, volcano-sh/volcano#3067).
"""

from typing import Any
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Sessions, away_as_unavailable
from app.errors import Conflict
from app.jobs import store
from app.jobs.dependencies import WAITING_FOR_DEPENDENCIES, still_waiting
from app.jobs.states import Desired, Ending, JobState, after_suspend
from app.jobs.transitions import jobs, move, notify, record_event
from app.jobs.unfinished import find_unfinished
from app.jobs.waiting import WAITING_FOR_QUOTA, queue_deadline

SUSPENDED_BY_USER = "SuspendedByUser"
SUSPEND_EVENT = "suspend"
RESUME_EVENT = "resume"

_PAUSED = {JobState.SUSPENDING, JobState.SUSPENDED}


async def suspend(sessions: Sessions, job_id: UUID, team: str | None) -> dict[str, Any]:
    """Suspend a job, and return its row.

    A job that has nothing in the cluster is suspended at once; any other is `suspending` until its last pod is gone. To
    suspend it again changes nothing.

    Raises:
        NotFound: there is no such job in `team` (None: any team).
        JobFinished: the job has ended.
        Conflict: it is being cancelled.
    """
    return await _wish(sessions, job_id, team, Desired.SUSPEND)


async def resume(sessions: Sessions, job_id: UUID, team: str | None) -> dict[str, Any]:
    """Let a suspended job go on, and return its row; a job that is not suspended stays as it is.

    It is `held` until its team's quota has room for it. A job that is still being suspended goes on right after.

    Raises:
        NotFound: there is no such job in `team` (None: any team).
        JobFinished: the job has ended.
        Conflict: it is being cancelled.
    """
    return await _wish(sessions, job_id, team, Desired.RUN)


async def _wish(sessions: Sessions, job_id: UUID, team: str | None, wanted: Desired) -> dict[str, Any]:
    with away_as_unavailable():
        async with sessions.begin() as session:
            row = await find_unfinished(session, job_id, team)
            if row["state"] == JobState.CANCELLING:
                raise Conflict("The job is being cancelled.")
            await notify(session, job_id)  # also when nothing changes: whoever asks again may have seen it stand still
            if row["desired"] == wanted:
                return row
            await (_suspend if wanted is Desired.SUSPEND else _resume)(session, row)
            return await store.find(session, job_id, None) or row


async def _suspend(session: AsyncSession, row: dict[str, Any]) -> None:
    state = JobState(row["state"])
    target = after_suspend(state)
    facts: dict[str, Any] = {"desired": Desired.SUSPEND, "queue_deadline_at": None}
    if row["ending"] in {Ending.DEADLINE_EXCEEDED, Ending.QUEUE_TIMEOUT}:
        facts["ending"] = None  # whether its time is over is asked anew when it goes on
    if target is JobState.SUSPENDED:
        facts |= dict.fromkeys(("released_at", "due_at"))
    elif row["k8s_uid"] is None:
        # a create call may be under way: whoever holds the lock knows more when it ends, so look again then
        facts["due_at"] = row["lock_expires_at"] or func.now()
    if state in _PAUSED:  # it was resumed before it was suspended
        await _note(session, row, state, SUSPEND_EVENT, facts)
    else:
        await move(session, row["id"], target, at=func.now(), reason=SUSPENDED_BY_USER, event=SUSPEND_EVENT, **facts)


async def _resume(session: AsyncSession, row: dict[str, Any]) -> None:
    facts: dict[str, Any] = {"desired": Desired.RUN, "resumes": row["resumes"] + 1}
    if row["state"] != JobState.SUSPENDED:
        await _note(session, row, JobState(row["state"]), RESUME_EVENT, facts)
        return
    at = func.now()
    if row["open_parents"]:
        facts |= {"reason": WAITING_FOR_DEPENDENCIES, "message": still_waiting(row["open_parents"])}
    else:
        deadline = queue_deadline(row["spec"].get("queue_timeout_seconds"), at)
        facts |= {"reason": WAITING_FOR_QUOTA, "waiting_since": at, "queue_deadline_at": deadline}
    await move(session, row["id"], JobState.HELD, at=at, event=RESUME_EVENT, **facts)


async def _note(session: AsyncSession, row: dict[str, Any], state: JobState, event: str, facts: dict[str, Any]) -> None:
    await session.execute(update(jobs).where(jobs.c.id == row["id"]).values(facts))
    await record_event(session, row["id"], row["team"], event, state, at=func.now(), reason=row["reason"])
