"""Accepting many jobs at once: each is decided as if it came alone, in the order of the request, in one transaction."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from app import telemetry
from app.db import Sessions, away_as_unavailable, new_id
from app.errors import AppError, IdempotencyKeyReused, NotFound, ValidationError
from app.failpoints import ACCEPT_BEFORE_COMMIT, ACCEPT_COMMITTED, failpoint
from app.jobs import acceptance, awaiting, bulk_store, dependencies, dependency_store, identity, store, validation
from app.jobs.acceptance import Facts
from app.jobs.bulk_schemas import BulkJob, Malformed
from app.jobs.bulk_store import QueueFacts, TeamFacts
from app.jobs.schemas import JobCreate
from app.jobs.service import Accepted, Submission, count_accepted, hash_of, new_row
from app.jobs.states import Desired
from app.prepared import Driver, driver_transaction
from app.settings import Settings
from app.teams.quota import JOB_COUNT

Outcome: TypeAlias = Accepted | AppError


@dataclass(frozen=True, slots=True)
class _Item:
    """A job that is well formed, and where it stands in the request."""

    index: int
    submission: Submission
    request_hash: bytes


async def submit_many(
    sessions: Sessions, settings: Settings, team: str, submitted_by: str, jobs: Sequence[BulkJob | Malformed | AppError]
) -> list[Outcome]:
    """Accept what can be accepted, in one transaction that is committed before this returns.

    An item that is an error already is refused with it.

    Returns:
        for each job what a single submission would have given or raised, in order. Jobs before it in the same request
        count: for the quota, for names and for idempotency keys.

    Raises:
        NotFound: there is no such team.
        Unavailable: the database does not answer; nothing was accepted.
    """
    outcomes: dict[int, Outcome] = {}
    items: list[_Item] = []
    for index, job in enumerate(jobs):
        checked = _checked(settings, team, submitted_by, index, job)
        if isinstance(checked, AppError):
            outcomes[index] = checked
        else:
            items.append(checked)
    with away_as_unavailable():
        async with driver_transaction(sessions) as driver:
            made = await _accept_all(driver, settings, team, items)
            failpoint(ACCEPT_BEFORE_COMMIT)
        outcomes |= await _with_replays(sessions, made)
    failpoint(ACCEPT_COMMITTED)
    _count(outcomes)
    return [outcomes[index] for index in range(len(jobs))]


def _checked(
    settings: Settings, team: str, submitted_by: str, index: int, job: BulkJob | Malformed | AppError
) -> "_Item | AppError":
    if isinstance(job, AppError):
        return job
    if isinstance(job, Malformed):
        return ValidationError(list(job.faults))
    try:
        validation.check(job, settings.priorities)
    except AppError as error:
        return error
    return _Item(index, Submission(team, job, job.idempotency_key, submitted_by), hash_of(job))


async def _accept_all(
    driver: Driver, settings: Settings, team: str, items: Sequence[_Item]
) -> dict[int, dict[str, Any] | UUID | AppError]:
    """Decide about every item under the team's lock, and insert the rows of those that are accepted."""
    if not await acceptance.lock_team(driver, team):
        raise NotFound("There is no such team.")
    facts = await _read_facts(driver, team, items)
    # ids are made under the lock, so that those of a team sort as its jobs were accepted
    named = _named(items, facts.used_names)
    doubtful = [name for _, _, names in named for name in names[1:]]
    if doubtful:
        facts.used_names |= await bulk_store.read_used_names(driver, facts.namespace, doubtful)
    made: dict[int, dict[str, Any] | UUID | AppError] = {}
    for item, job_id, names in named:
        try:
            made[item.index] = _decide(settings, facts, item, job_id, names)
        except AppError as error:
            made[item.index] = error
    rows = [row for row in made.values() if isinstance(row, dict)]
    await bulk_store.insert_jobs(driver, team, rows)
    if facts.links:
        await dependency_store.insert_links(driver, facts.links, rows[0]["created_at"])
    return made


def _named(items: Sequence[_Item], used_names: Collection[str]) -> list[tuple[_Item, UUID, list[str]]]:
    """Each item with an id, and with the names that its Volcano Job may have: its own one alone when that is free."""
    counts = Counter(item.submission.spec.name for item in items)
    named: list[tuple[_Item, UUID, list[str]]] = []
    for item in items:
        job_id, spec = new_id(), item.submission.spec
        free = counts[spec.name] == 1 and spec.name not in used_names
        named.append((item, job_id, [spec.name] if free else identity.k8s_name_candidates(spec, job_id)))
    return named


async def _read_facts(driver: Driver, team: str, items: Sequence[_Item]) -> TeamFacts:
    keys = [item.submission.idempotency_key for item in items if item.submission.idempotency_key is not None]
    names = [item.submission.spec.name for item in items]
    facts = await bulk_store.read_team(driver, team, keys=keys, names=names)
    awaited = {one.job for item in items for one in item.submission.spec.after}
    facts.parents = await dependency_store.read_parents(driver, team, awaited)
    return facts


def _decide(
    settings: Settings, facts: TeamFacts, item: _Item, job_id: UUID, candidates: list[str]
) -> dict[str, Any] | UUID:
    """The row of an item, or the id of the job that its request made before; `facts` learn what was decided.

    Raises:
        AppError: it is refused.
    """
    submission = item.submission
    key, spec = submission.idempotency_key, submission.spec
    if key is not None and key in facts.keyed:
        known_id, known_hash = facts.keyed[key]
        if known_hash != item.request_hash:
            raise IdempotencyKeyReused("This idempotency key came with another request before; use a new one.")
        return known_id
    links = awaiting.links_of(spec.after, facts.parents)
    row = new_row(
        submission,
        settings,
        _facts_of(facts, spec),
        job_id=job_id,
        candidates=candidates,
        request_hash=item.request_hash,
        verdict=dependencies.judge(links),
    )
    if links:
        facts.links[job_id] = links
    if row["ended_at"] is None:
        facts.live[spec.name] = (job_id, Desired.RUN)
    facts.used_names.add(row["k8s_name"])
    if key is not None:
        facts.keyed[key] = (job_id, item.request_hash)
    if row["charged"]:
        for resource, amount in {**row["charges"], JOB_COUNT: 1}.items():
            facts.used[resource] = facts.used.get(resource, 0) + amount
    return row


def _facts_of(team: TeamFacts, spec: JobCreate) -> Facts:
    """What decides about one job, in the form in which a single submission reads it."""
    name = spec.queue if spec.queue is not None else team.default_queue
    queue = team.queues.get(name) if name is not None else None
    live_id, live_desired = team.live.get(spec.name, (None, None))
    known = queue or QueueFacts({}, None)
    return Facts(
        namespace=team.namespace,
        queue=name,
        granted=queue is not None,
        capability=known.capability,
        queue_state=known.state,
        quota=team.quota,
        used=team.used,
        replayed_id=None,
        replayed_hash=None,
        live_id=live_id,
        live_desired=live_desired,
        used_names=team.used_names,
    )


async def _with_replays(sessions: Sessions, made: dict[int, dict[str, Any] | UUID | AppError]) -> dict[int, Outcome]:
    known = {found for found in made.values() if isinstance(found, UUID)}
    rows: dict[UUID, store.Row] = {}
    if known:
        async with sessions() as session:
            rows = await store.find_all(session, known)
    return {index: _outcome(found, rows) for index, found in made.items()}


def _outcome(found: dict[str, Any] | UUID | AppError, rows: dict[UUID, store.Row]) -> Outcome:
    if isinstance(found, AppError):
        return found
    if isinstance(found, UUID):
        return Accepted(rows[found], replayed=True) if found in rows else NotFound("There is no such job.")
    return Accepted(found, replayed=False)


def _count(outcomes: dict[int, Outcome]) -> None:
    for outcome in outcomes.values():
        if isinstance(outcome, AppError):
            telemetry.REFUSED.labels(outcome.type).inc()
        elif not outcome.replayed:
            count_accepted(outcome.row)
