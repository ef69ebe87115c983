"""Cancelling a job: the wish is written down here, the controller carries it out."""

from typing import Any
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from app import telemetry
from app.db import Sessions, away_as_unavailable, now
from app.jobs import store
from app.jobs.states import Desired, JobState, after_cancel
from app.jobs.transitions import move, notify
from app.jobs.unfinished import find_unfinished

CANCELLED_BY_USER = "CancelledByUser"
CANCEL_EVENT = "cancel"


async def cancel(sessions: Sessions, job_id: UUID, team: str | None, reason: str | None) -> dict[str, Any]:
    """Cancel a job, and return its row.

    A job that never reached the cluster is cancelled at once; any other is `cancelling` until its last pod is gone. A
    second cancel changes nothing.

    Raises:
        NotFound: there is no such job in `team` (None: any team).
        JobFinished: the job has ended.
    """
    with away_as_unavailable():
        async with sessions.begin() as session:
            row = await find_unfinished(session, job_id, team)
            if row["desired"] != Desired.CANCEL:
                await _cancel(session, row, reason)
                row = await store.find(session, job_id, None) or row
    if row["state"] == JobState.CANCELLED:
        telemetry.ENDED.labels(JobState.CANCELLED).inc()
    return row


async def _cancel(session: AsyncSession, row: dict[str, Any], reason: str | None) -> None:
    target = after_cancel(JobState(row["state"]))
    facts: dict[str, Any] = {"desired": Desired.CANCEL, "cancel_reason": reason}
    at = now()
    if target is JobState.CANCELLING and row["k8s_uid"] is None:
        # a create call may be under way: whoever holds the lock knows more when it ends, so look again then
        facts["due_at"] = row["lock_expires_at"] or func.now()
    await move(session, row["id"], target, at=at, reason=CANCELLED_BY_USER, event=CANCEL_EVENT, **facts)
    await notify(session, row["id"])
