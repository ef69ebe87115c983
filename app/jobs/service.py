"""Accepting a job. Nothing here talks to the cluster: a committed row is all that running it needs."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app import telemetry
from app.db import Sessions, away_as_unavailable, new_id
from app.errors import AppError, IdempotencyKeyReused, NotFound
from app.failpoints import ACCEPT_BEFORE_COMMIT, ACCEPT_COMMITTED, failpoint
from app.jobs import (
    acceptance,
    admission,
    awaiting,
    charges,
    dependencies,
    dependency_store,
    gang,
    identity,
    store,
    validation,
)
from app.jobs.dependencies import Verdict
from app.jobs.schemas import JobCreate
from app.jobs.states import Desired, JobState
from app.jobs.waiting import WAITING_FOR_QUOTA, WAITING_FOR_RELEASE, queue_deadline
from app.prepared import Driver, driver_transaction
from app.settings import Settings
from app.teams.quota import QuotaDecision, QuotaVerdict

_AS_JSON = JobCreate.__pydantic_serializer__
"""Writes the fields of a submission, also of one that has more, as an item of a bulk submission has."""

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job's row, and whether an earlier request with the same key had made it."""

    row: dict[str, Any]
    replayed: bool


@dataclass(frozen=True, slots=True)
class Submission:
    """One request to run a job; `retry_of` is the ended job that it is to run again."""

    team: str
    spec: JobCreate
    idempotency_key: str | None
    submitted_by: str
    retry_of: UUID | None = None


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
        request_hash = hash_of(submission.spec) if submission.retry_of is None else hash_of_retry(submission.retry_of)
        with away_as_unavailable():
            async with driver_transaction(sessions) as driver:
                made = await _accept(driver, settings, submission, request_hash)
                failpoint(ACCEPT_BEFORE_COMMIT)
            accepted = await _replay(sessions, made) if isinstance(made, UUID) else Accepted(made, replayed=False)
    except AppError as error:
        telemetry.REFUSED.labels(error.type).inc()
        raise
    failpoint(ACCEPT_COMMITTED)
    if not accepted.replayed:
        count_accepted(accepted.row)
    return accepted


def count_accepted(row: Mapping[str, Any]) -> None:
    """Count a job that was accepted, which may have ended already because of one that it was to wait for."""
    telemetry.ACCEPTED.inc()
    if row["ended_at"] is not None:
        telemetry.ENDED.labels(row["state"]).inc()


async def _accept(
    driver: Driver, settings: Settings, submission: Submission, request_hash: bytes
) -> dict[str, Any] | UUID:
    """Insert the job and return its row, or the id of the job that the same request has made before."""
    spec = submission.spec
    if not await acceptance.lock_team(driver, submission.team):
        raise NotFound("There is no such team.")
    job_id = new_id()  # under the lock, so that the ids of a team sort as its jobs were accepted
    candidates = identity.k8s_name_candidates(spec, job_id)
    facts = await acceptance.read_facts(
        driver,
        team=submission.team,
        queue=spec.queue,
        name=spec.name,
        key=submission.idempotency_key,
        candidates=candidates,
    )
    if facts.replayed_id is not None:
        if facts.replayed_hash != request_hash:
            raise IdempotencyKeyReused("This Idempotency-Key came with another request before; use a new one.")
        return facts.replayed_id
    links = await awaiting.read(driver, submission.team, spec)
    row = new_row(
        submission,
        settings,
        facts,
        job_id=job_id,
        candidates=candidates,
        request_hash=request_hash,
        verdict=dependencies.judge(links),
    )
    await acceptance.insert_job(driver, row)
    await dependency_store.insert_links(driver, {job_id: links}, row["created_at"])
    return row


def new_row(
    submission: Submission,
    settings: Settings,
    facts: acceptance.Facts,
    *,
    job_id: UUID,
    candidates: list[str],
    request_hash: bytes,
    verdict: Verdict = dependencies.FREE,
) -> dict[str, Any]:
    """The row of a job that is accepted. Pure.

    Args:
        submission: what was asked.
        settings: of the operator.
        facts: read under the team's lock.
        job_id: of the new job.
        candidates: names for its Volcano Job, best first.
        request_hash: of `submission`.
        verdict: what the jobs that it waits for make of it.

    Raises:
        AppError: it is refused; see `submit`.
    """
    created_at = identity.created_at(job_id)
    return {
        **store.BLANK,
        **_asked(submission, settings, admission.queue_for(facts)),
        **_decided(admission.decide(facts, submission.spec)),
        "queue_deadline_at": queue_deadline(submission.spec.queue_timeout_seconds, created_at),
        **_awaiting(verdict, created_at),
        "id": job_id,
        "created_at": created_at,
        "k8s_namespace": facts.namespace,
        "k8s_name": identity.choose_k8s_name(candidates, facts.used_names),
        "request_hash": request_hash,
    }


def _asked(submission: Submission, settings: Settings, queue: str) -> dict[str, Any]:
    """The columns that say what the owner asked for."""
    spec = submission.spec
    priority = spec.priority or settings.default_priority
    return {
        "team": submission.team,
        "name": spec.name,
        "queue": queue,
        "spec": _with_defaults(spec, queue, priority),
        "charges": charges.of_job(spec),
        "priority": priority,
        "priority_rank": list(settings.priorities).index(priority),
        "labels": spec.labels,
        "submitted_by": submission.submitted_by,
        "desired": Desired.RUN,
        "idempotency_key": submission.idempotency_key,
        "retry_of": submission.retry_of,
    }


def _decided(decision: QuotaDecision) -> dict[str, Any]:
    """The columns that say where the job begins: it waits for its release, or for quota."""
    fits = decision.verdict is QuotaVerdict.FITS
    return {
        "charged": fits,
        "state": JobState.HELD,
        "reason": WAITING_FOR_RELEASE if fits else WAITING_FOR_QUOTA,
        "message": None if fits else decision.sentence,
    }


def _awaiting(verdict: Verdict, at: datetime) -> dict[str, Any]:
    """The columns that the jobs that it waits for decide: it waits for them, or has ended because of one of them.

    One that waits is charged at once, if it fits: its place in the quota is its own from its acceptance on. The limit
    on its waiting begins when it waits for no other.
    """
    if verdict.reason is None:
        return {}
    why = {"reason": verdict.reason, "message": verdict.message, "queue_deadline_at": None}
    if verdict.end is None:
        return {**why, "open_parents": verdict.open}
    return {**why, "state": verdict.end, "charged": False, "ended_at": at}


async def _replay(sessions: Sessions, job_id: UUID) -> Accepted:
    async with sessions() as session:
        row = await store.find(session, job_id, None)
    if row is None:
        raise NotFound("There is no such job.")
    return Accepted(row, replayed=True)


def hash_of(spec: JobCreate) -> bytes:
    """SHA-256 over a request as understood.

    Neither the order of members nor a default that is written out makes a difference, and a field that a later version
    adds leaves the hashes of today's requests as they are.
    """
    body = _AS_JSON.to_python(spec, mode="json", exclude_defaults=True)
    return hashlib.sha256(_canonical(body).encode()).digest()


def hash_of_retry(job_id: UUID) -> bytes:
    """SHA-256 of the request to run an ended job again, which has no body."""
    return hashlib.sha256(b"retry of " + job_id.bytes).digest()


def _with_defaults(spec: JobCreate, queue: str, priority: str) -> dict[str, Any]:
    """The body with what its owner left out: what is stored says what runs, even when a default changes later."""
    body = _AS_JSON.to_python(spec, mode="json")
    names = gang.task_names(spec)
    tasks = [{**task, "name": name} for task, name in zip(body["tasks"], names, strict=True)]
    size = gang.min_available(spec)
    return {**body, "queue": queue, "priority": priority, "tasks": tasks, "min_available": size}
