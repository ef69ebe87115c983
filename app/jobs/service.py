"""Accepting a job. Nothing here talks to the cluster: a committed row is all that running it needs."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app import telemetry
from app.db import Sessions, away_as_unavailable, new_id
from app.errors import (
    AppError,
    IdempotencyKeyReused,
    JobNeverFits,
    NameInUse,
    NotFound,
    QueueNotGranted,
    QueueNotOpen,
)
from app.failpoints import ACCEPT_BEFORE_COMMIT, ACCEPT_COMMITTED, failpoint
from app.jobs import acceptance, charges, gang, identity, placement, store, validation
from app.jobs.acceptance import Facts
from app.jobs.schemas import JobCreate
from app.jobs.states import Desired, JobState
from app.settings import Settings
from app.teams import quota
from app.teams.quota import OnOverQuota, QuotaDecision, QuotaVerdict

WAITING_FOR_RELEASE = "WaitingForRelease"
QUOTA_EXCEEDED = "QuotaExceeded"

_NOT_TAKING = frozenset({"Closed", "Closing"})


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job's row, and whether an earlier request with the same key had made it."""

    row: dict[str, Any]
    replayed: bool


@dataclass(frozen=True, slots=True)
class Submission:
    """One request to run a job."""

    team: str
    spec: JobCreate
    idempotency_key: str | None
    submitted_by: str


async def submit(sessions: Sessions, settings: Settings, submission: Submission) -> Accepted:
    """Accept a job in one transaction, committed before this returns.

    The same idempotency key with the same request gives back the job that it made, whatever became of it since.

    Raises:
        ValidationError, GpuNotWhole: the body is wrong.
        NotFound: there is no such team.
        IdempotencyKeyReused: the key belongs to another request of the team.
        QueueNotGranted, QueueNotOpen: the queue cannot be used.
        NameInUse: a job of this name has not ended.
        JobNeverFits: it is above a limit of the quota, or above what its queue may ever use.
        QuotaExceeded: it does not fit now, and the team's quota says to refuse such jobs.
    """
    try:
        validation.check(submission.spec, settings.priorities)
        with away_as_unavailable():
            async with sessions.begin() as session:
                accepted = await _accept(await session.connection(), settings, submission)
                failpoint(ACCEPT_BEFORE_COMMIT)
    except AppError as error:
        telemetry.REFUSED.labels(error.type).inc()
        raise
    failpoint(ACCEPT_COMMITTED)
    if not accepted.replayed:
        telemetry.ACCEPTED.inc()
    return accepted


async def _accept(connection: AsyncConnection, settings: Settings, submission: Submission) -> Accepted:
    spec = submission.spec
    if not await acceptance.lock_team(connection, submission.team):
        raise NotFound("There is no such team.")
    job_id = new_id()  # under the lock, so that the ids of a team sort as its jobs were accepted
    candidates = identity.k8s_name_candidates(spec, job_id)
    facts = await acceptance.read_facts(
        connection,
        team=submission.team,
        queue=spec.queue,
        name=spec.name,
        key=submission.idempotency_key,
        candidates=candidates,
    )
    body = spec.model_dump(mode="json")
    request_hash = hash_of(spec)
    if facts.replayed_id is not None:
        return await _replay(connection, facts.replayed_id, facts.replayed_hash, request_hash)
    queue = _usable_queue(facts)
    _require_free_name(facts)
    amounts = charges.of_job(spec)
    decision = _decide(facts, spec, amounts)
    fits = decision.verdict is QuotaVerdict.FITS
    priority = spec.priority or settings.default_priority
    row = store.BLANK | {
        "id": job_id,
        "team": submission.team,
        "name": spec.name,
        "queue": queue,
        "k8s_namespace": facts.namespace,
        "k8s_name": identity.choose_k8s_name(candidates, facts.used_names),
        "spec": _with_defaults(body, spec, queue, priority),
        "charges": amounts,
        "charged": fits,
        "priority": priority,
        "priority_rank": list(settings.priorities).index(priority),
        "labels": spec.labels,
        "submitted_by": submission.submitted_by,
        "desired": Desired.RUN,
        "state": JobState.HELD,
        "reason": WAITING_FOR_RELEASE if fits else QUOTA_EXCEEDED,
        "message": None if fits else decision.sentence,
        "idempotency_key": submission.idempotency_key,
        "request_hash": request_hash,
        "created_at": identity.created_at(job_id),
    }
    await acceptance.insert_job(connection, row)
    return Accepted(row, replayed=False)


async def _replay(connection: AsyncConnection, job_id: UUID, stored: bytes | None, given: bytes) -> Accepted:
    if stored != given:
        raise IdempotencyKeyReused("This Idempotency-Key came with another request before; use a new one.")
    row = await store.find(connection, job_id, None)
    if row is None:
        raise NotFound("There is no such job.")
    return Accepted(row, replayed=True)


def _usable_queue(facts: Facts) -> str:
    if facts.queue is None:
        raise QueueNotGranted("The job names no queue, and the team has no default one.")
    if not facts.granted:
        raise QueueNotGranted("The team may not use this queue.")
    if facts.queue_state in _NOT_TAKING:
        raise QueueNotOpen(f"The queue is {facts.queue_state} and takes no jobs.")
    return facts.queue


def _require_free_name(facts: Facts) -> None:
    if facts.live_id is not None:
        raise NameInUse(
            f"The job {facts.live_id} of this name has not ended yet; cancel it or choose another name.",
            job_id=str(facts.live_id),
        )


def _decide(facts: Facts, spec: JobCreate, amounts: dict[str, int]) -> QuotaDecision:
    """The quota's decision, which is to accept (perhaps on hold), or the error that refuses."""
    decision = quota.check(facts.quota, facts.used, amounts)
    if decision.verdict is QuotaVerdict.NEVER:
        raise decision.refusal()
    excess = placement.excess(spec, facts.capability)
    if excess is not None:
        raise JobNeverFits(excess.sentence, resource=excess.resource, limit=excess.limit, requested=excess.requested)
    if decision.verdict is QuotaVerdict.EXCEEDED and facts.quota.on_over_quota is OnOverQuota.REJECT:
        raise decision.refusal()
    return decision


def hash_of(spec: JobCreate) -> bytes:
    """SHA-256 over a request as understood.

    Neither the order of members nor a default that is written out makes a difference, and a field that a later version
    adds leaves the hashes of today's requests as they are.
    """
    body = spec.model_dump(mode="json", exclude_defaults=True)
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).digest()


def _with_defaults(body: dict[str, Any], spec: JobCreate, queue: str, priority: str) -> dict[str, Any]:
    """The body with what its owner left out: what is stored says what runs, even when a default changes later."""
    names = gang.task_names(spec)
    tasks = [{**task, "name": name} for task, name in zip(body["tasks"], names, strict=True)]
    size = gang.min_available(spec)
    return {**body, "queue": queue, "priority": priority, "tasks": tasks, "min_available": size}
