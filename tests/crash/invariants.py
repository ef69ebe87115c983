"""What must hold after every fault, as sentences about what does not. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import UUID

from app.jobs.states import MOVES, TERMINAL, JobState
from app.teams.quota import JOB_COUNT
from tests.crash.clusters import Creation


@dataclass(frozen=True)
class Evidence:
    """What rows and cluster say at one moment.

    Attributes:
        rows: all of `jobs`.
        events: all of `job_events`, oldest first.
        usage: `team_usage` by resource, of the one team.
        creations: Volcano Jobs that were ever created in the team's namespace.
        shown: job id label -> uid of the Volcano Jobs of this installation that are there now.
        ends: job id -> (state, ended_at) as they were at earlier looks.
    """

    rows: Sequence[Any]
    events: Sequence[Any] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    creations: Sequence[Creation] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[UUID, tuple[str, Any]] = field(default_factory=dict)


def violations(seen: Evidence) -> list[str]:
    """Everything that is wrong, whatever moment it is."""
    return [*_creations(seen), *_histories(seen), *_ends(seen), *_usage(seen), *_orphans(seen)]


def recount(rows: Iterable[Any]) -> dict[str, int]:
    """What the charged jobs add up to."""
    counted: Counter[str] = Counter()
    for row in rows:
        if row.charged:
            counted.update({**row.charges, JOB_COUNT: 1})
    return dict(counted)


def usage_is_right(seen: Evidence) -> bool:
    return {name: used for name, used in seen.usage.items() if used} == recount(seen.rows)


def orphans(seen: Evidence) -> list[str]:
    """Ids of Volcano Jobs of ours without a row, or whose row says that they are gone."""
    rows = {str(row.id): row for row in seen.rows}
    return [job_id for job_id in seen.shown if job_id not in rows or rows[job_id].cleaned_at is not None]


def _creations(seen: Evidence) -> Iterable[str]:
    made: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in seen.creations:
        made[one.namespace, one.name].append(one.uid)
    for row in seen.rows:
        uids = made.pop((row.k8s_namespace, row.k8s_name), [])
        if len(uids) > 1:
            yield f"{row.name} ({row.state}) was created {len(uids)} times"
        elif row.k8s_uid is not None and uids != [row.k8s_uid]:
            yield f"{row.name} ({row.state}) has uid {row.k8s_uid}, created was {uids}"
        elif uids and row.k8s_uid is None and row.state in {*TERMINAL, JobState.PENDING, JobState.RUNNING}:
            yield f"{row.name} ({row.state}) knows nothing of the Volcano Job that was created for it"
    for namespace, name in made:
        yield f"{namespace}/{name} was created and has no row"


def _histories(seen: Evidence) -> Iterable[str]:
    told: dict[UUID, list[str]] = defaultdict(list)
    for event in seen.events:
        told[event.job_id].append(event.state)
    for row in seen.rows:
        states = told[row.id]
        if not states or states[-1] != row.state:
            yield f"{row.name} is {row.state}, its history ends with {states[-1:]}"
        if sum(state in TERMINAL for state in states) > 1:
            yield f"{row.name} ended more than once: {states}"
        for before, after in pairwise(states):
            if before != after and not _may_follow(JobState(before), JobState(after)):
                yield f"{row.name} went from {before} to {after}"


def _may_follow(before: JobState, after: JobState) -> bool:
    """A claim that is given back without a word is no event: a job may have been held in between."""
    if after in MOVES[before]:
        return True
    return before is JobState.SUBMITTING and after in MOVES[JobState.HELD]


def _ends(seen: Evidence) -> Iterable[str]:
    now = {row.id: (row.state, row.ended_at) for row in seen.rows}
    for job_id, end in seen.ends.items():
        if now.get(job_id) != end:
            yield f"{job_id} had ended {end}, now it is {now.get(job_id)}"
    for row in seen.rows:
        if row.state == JobState.SUCCEEDED and row.counts.get("succeeded", 0) < _replicas(row):
            yield f"{row.name} succeeded with {row.counts}"
        if row.ended_at is not None and row.charged:
            yield f"{row.name} is {row.state} and still charged"


def _replicas(row: Any) -> int:
    return sum(task["replicas"] for task in row.spec["tasks"])


def _usage(seen: Evidence) -> Iterable[str]:
    if not usage_is_right(seen):
        yield f"usage says {dict(seen.usage)}, a recount {recount(seen.rows)}"


def _orphans(seen: Evidence) -> Iterable[str]:
    for job_id in orphans(seen):
        yield f"the Volcano Job of {job_id} has no row, or one that calls it gone"
