"""Every statement about a job's way to the cluster: claim it, record what the API server said, put it back.

Each takes the caller's transaction, which the controller fences by its lease. Times are Postgres's own. The order is
that of the design's table: S1 is `claim_due`, S4 is `mark_submitted`; whatever happens in between, the claim's lease
runs out and the job is due again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import CTE, Text, Uuid, bindparam, case, column, func, insert, literal, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession

from app.jobs.states import STOPPING, Desired, JobState
from app.jobs.transitions import job_events, jobs, move, record_event

MAXIMUM_MESSAGE_LENGTH = 1024
"""Characters of a message that are kept: a webhook's words may be pages long."""

_EVENT = ["job_id", "team", "at", "type", "state"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One job that this controller alone may submit until its lease runs out.

    Attributes:
        maybe_sent: an earlier claim ran out without an answer, so the Volcano Job may exist already.
        waited_seconds: since its release, by Postgres' clock.
        reason: why it was put back the last time, if it was.
    """

    id: UUID
    token: UUID
    team: str
    queue: str
    k8s_namespace: str
    k8s_name: str
    name: str
    priority: str
    labels: dict[str, str]
    spec: dict[str, Any]
    run_indices: dict[str, list[int]] | None
    counts: dict[str, int]
    waited_seconds: float
    reason: str | None
    maybe_sent: bool


@dataclass(frozen=True, slots=True)
class Created:
    """A claimed job whose Volcano Job is known to exist."""

    id: UUID
    token: UUID
    k8s_uid: str


async def claim_due(session: AsyncSession, token: UUID, *, limit: int, lease_seconds: float) -> list[Claim]:
    """Claim up to `limit` released jobs that are due, the most urgent first; nobody waits for anybody.

    A job that another claim holds comes back when that claim's lease has run out. A cancelled job is never claimed.
    """
    due = _due(limit)
    lease_end = func.now() + timedelta(seconds=lease_seconds)
    claimed = (
        update(jobs)
        .where(jobs.c.id == due.c.id)
        .values(
            state=JobState.SUBMITTING,
            state_since=case((jobs.c.state == JobState.SUBMITTING, jobs.c.state_since), else_=func.now()),
            reason=None,
            message=None,
            lock_token=token,
            lock_expires_at=lease_end,
            due_at=lease_end,
            attempted_at=func.now(),
        )
        .returning(*(jobs.c[name] for name in _CLAIMED), _WAITED, due.c.before, due.c.reason, due.c.first)
        .cte("claimed")
    )
    line = select(claimed.c.id, claimed.c.team, func.now(), literal("state"), literal(str(JobState.SUBMITTING)))
    history = insert(job_events).from_select(_EVENT, line.where(claimed.c.first)).cte("history")
    rows = await session.execute(
        select(claimed).add_cte(history).order_by(claimed.c.priority_rank.desc(), claimed.c.id)
    )
    return [_claim(row, token) for row in rows]


_CLAIMED = (
    *("id", "team", "queue", "k8s_namespace", "k8s_name", "name", "priority", "priority_rank", "labels"),
    *("spec", "run_indices", "counts"),
)

_WAITED = func.extract("epoch", func.now() - jobs.c.released_at).label("waited_seconds")


def _due(limit: int) -> CTE:
    return (
        select(jobs.c.id, jobs.c.state.label("before"), jobs.c.reason, jobs.c.attempted_at.is_(None).label("first"))
        .where(
            jobs.c.due_at <= func.now(),
            jobs.c.state.in_([JobState.HELD, JobState.SUBMITTING]),
            jobs.c.desired == Desired.RUN,
            jobs.c.ending.is_(None),
            jobs.c.released_at.is_not(None),
            or_(jobs.c.lock_expires_at.is_(None), jobs.c.lock_expires_at <= func.now()),
        )
        .order_by(jobs.c.priority_rank.desc(), jobs.c.due_at, jobs.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("due")
    )


def _claim(row: Any, token: UUID) -> Claim:
    return Claim(
        id=row.id,
        token=token,
        team=row.team,
        queue=row.queue,
        k8s_namespace=row.k8s_namespace,
        k8s_name=row.k8s_name,
        name=row.name,
        priority=row.priority,
        labels=row.labels,
        spec=row.spec,
        run_indices=row.run_indices,
        counts=row.counts,
        waited_seconds=float(row.waited_seconds),
        reason=row.reason,
        maybe_sent=row.before == JobState.SUBMITTING,
    )


async def seconds_until_due(session: AsyncSession) -> float | None:
    """How long until the next job is due; 0 or less when one is, None when the work list is empty."""
    next_due = select(func.extract("epoch", func.min(jobs.c.due_at) - func.now())).where(
        jobs.c.due_at.is_not(None), jobs.c.state.in_([JobState.HELD, JobState.SUBMITTING])
    )
    seconds = (await session.execute(next_due)).scalar_one()
    return None if seconds is None else float(seconds)


async def mark_submitted(session: AsyncSession, created: Sequence[Created]) -> set[UUID]:
    """Record that Volcano Jobs exist, in one statement, and return the ids of those that were still ours to record.

    The others were seen by the watch first, or their claims ran out and somebody else adopted the Job. A job that was
    cancelled meanwhile stays `cancelling`, now with its uid, so that it can be terminated.
    """
    if not created:
        return set()
    # arrays, so that the statement is the same for any number of jobs and is prepared once
    arrays = (
        bindparam("ids", [one.id for one in created], type_=ARRAY(Uuid)),
        bindparam("tokens", [one.token for one in created], type_=ARRAY(Uuid)),
        bindparam("uids", [one.k8s_uid for one in created], type_=ARRAY(Text)),
    )
    columns = (column("id", Uuid), column("token", Uuid), column("k8s_uid", Text))
    given = func.unnest(*arrays).table_valued(*columns, name="given").render_derived()
    recorded = (
        update(jobs)
        .where(
            jobs.c.id == given.c.id,
            jobs.c.lock_token == given.c.token,
            jobs.c.state.in_([JobState.SUBMITTING, *STOPPING]),
        )
        .values(
            **_PENDING,
            k8s_uid=given.c.k8s_uid,
            **_SUBMITTED,
            **_UNLOCKED,
        )
        .returning(jobs.c.id, jobs.c.team, jobs.c.state)
        .cte("recorded")
    )
    line = select(recorded.c.id, recorded.c.team, func.now(), literal("submitted"), recorded.c.state)
    history = insert(job_events).from_select(_EVENT, line).cte("history")
    rows = await session.execute(select(recorded.c.id).add_cte(history))
    return set(rows.scalars())


_PENDING: dict[str, Any] = {
    "state": case((jobs.c.state == JobState.SUBMITTING, JobState.PENDING), else_=jobs.c.state),
    "state_since": case((jobs.c.state == JobState.SUBMITTING, func.now()), else_=jobs.c.state_since),
}
"""A job that its owner stopped meanwhile stays in its state."""

_SUBMITTED: dict[str, Any] = {
    "attempt": jobs.c.attempt_base + 1,
    "submitted_at": func.coalesce(jobs.c.submitted_at, func.now()),
}

_UNLOCKED: dict[str, Any] = {"lock_token": None, "lock_expires_at": None, "due_at": None}


async def adopt(session: AsyncSession, job_id: UUID, k8s_uid: str) -> bool:
    """Record a Volcano Job of ours that was found in the cluster while nobody was known to have created it."""
    adopted = await session.execute(
        update(jobs)
        .where(
            jobs.c.id == job_id,
            jobs.c.k8s_uid.is_(None),
            jobs.c.state.in_([JobState.SUBMITTING, *STOPPING]),
        )
        .values(
            **_PENDING,
            k8s_uid=k8s_uid,
            **_SUBMITTED,
            reason=None,
            message=None,
            **_UNLOCKED,
        )
        .returning(jobs.c.team, jobs.c.state)
    )
    row = adopted.one_or_none()
    if row is None:
        return False
    await record_event(session, job_id, row.team, "submitted", row.state, at=func.now())
    return True


async def put_back(
    session: AsyncSession, claim: Claim, *, due_in_seconds: float | None, reason: str | None, message: str | None
) -> bool:
    """Give a claim back, since the API server surely did not take the Job this time.

    A first attempt goes back to `held`; one that follows an unanswered attempt stays `submitting`, because a held job
    can be cancelled on paper alone. A job that was cancelled meanwhile stays `cancelling` and is only unlocked.

    Args:
        session: the caller's transaction.
        claim: as given by `claim_due`.
        due_in_seconds: when it is due again; None takes its release back, so that the window decides anew.
        reason: one word for the owner, for example QueueNotOpen.
        message: one sentence, cut to `MAXIMUM_MESSAGE_LENGTH`.

    Returns:
        False when the claim was not ours any more, or the job was cancelled.
    """
    text = message and message[:MAXIMUM_MESSAGE_LENGTH]
    state = JobState.SUBMITTING if claim.maybe_sent else JobState.HELD
    facts: dict[str, Any] = {"state": state, "reason": reason, "message": text, **_UNLOCKED}
    if state is JobState.HELD:
        facts["state_since"] = func.now()
    if due_in_seconds is None and not claim.maybe_sent:
        facts["released_at"] = None
    else:
        facts["due_at"] = func.now() + timedelta(seconds=due_in_seconds or 0.0)
    ours = update(jobs).where(jobs.c.id == claim.id, jobs.c.lock_token == claim.token)
    back = await session.execute(ours.where(jobs.c.state == JobState.SUBMITTING).values(facts).returning(jobs.c.id))
    if back.scalar_one_or_none() is None:
        await session.execute(ours.where(jobs.c.state.in_(STOPPING)).values(_UNLOCKED))
        return False
    if reason is not None and reason != claim.reason:
        await record_event(session, claim.id, claim.team, "put-back", state, at=func.now(), reason=reason, message=text)
    return True


async def fail(session: AsyncSession, claim: Claim, reason: str, message: str) -> bool:
    """End a claimed job that the cluster refused for good; False when it was cancelled or is not ours any more."""
    text = message[:MAXIMUM_MESSAGE_LENGTH]
    failed = await move(
        session, claim.id, JobState.FAILED, at=func.now(), lock_token=claim.token, reason=reason, message=text
    )
    if not failed:
        await session.execute(
            update(jobs)
            .where(jobs.c.id == claim.id, jobs.c.lock_token == claim.token, jobs.c.state.in_(STOPPING))
            .values(_UNLOCKED)
        )
    return failed
