"""What callers read about jobs. Values of environment variables are never among it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from app.jobs.attempts import MAXIMUM_NODES, Attempt, gpu_seconds, nodes
from app.jobs.dependency_view import DependencyRead, dependency_read
from app.jobs.durations import queued_seconds, run_seconds
from app.jobs.grouping import Groups
from app.jobs.states import JobState
from app.schema_base import ResponseBody

MASK = "***"

_STATES = ", ".join(JobState)


class Counts(ResponseBody):
    """Pods by what they do."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class Progress(ResponseBody):
    """How far the workers say that they are, over those that said anything."""

    done: int
    total: int


class JobProgress(Progress):
    """The sum over the pods of a job, the newest pod of each index."""

    at: datetime = Field(description="When the sum last changed")


class JobRead(ResponseBody):
    """A job and what was last seen of it."""

    id: UUID
    name: str
    team: str
    queue: str
    priority: str
    state: str = Field(description=f"One of {_STATES}; a later version may add more")
    reason: str | None = Field(description="One word for why it is in this state")
    message: str | None = Field(description="The same as a sentence, with numbers")
    state_since: datetime = Field(description="Since when it is in this state")
    counts: Counts = Field(description="Pods of the present attempt; `succeeded` never falls")
    progress: JobProgress | None = Field(description="Null while no worker has said how far it is")
    attempt: int = Field(description="Runs so far; 0 before the first")
    retries: int = Field(description="Runs that used up `retries.max`; eviction, preemption and node loss do not")
    resumes: int = Field(description="How often it was suspended and went on")
    retry_of: UUID | None = Field(description="The ended job that this one runs again")
    resources: dict[str, str] = Field(description="Extended resources of all replicas, as charged to the quota")
    labels: dict[str, str]
    submitted_by: str
    k8s_namespace: str
    k8s_name: str = Field(description="Name of the Volcano Job")
    created_at: datetime
    submitted_at: datetime | None = Field(description="When its Volcano Job was first made")
    started_at: datetime | None = Field(description="When its first pod started; null for a job that never ran")
    ended_at: datetime | None = Field(description="When it ended; set if and only if the state is a last one")
    cancel_reason: str | None = Field(description="What was given with the cancel")
    spec: dict[str, Any] = Field(description="The body as accepted, with defaults filled in and env values as `***`")


class JobDetail(JobRead):
    """A job as it is read alone: also where it runs, how long it takes, and what it used."""

    nodes: list[str] = Field(description=f"Where its pods are now: at most {MAXIMUM_NODES} names of nodes")
    queued_seconds: float = Field(
        description="Waiting for its turn, before the first run and between runs; not what it waited for other jobs, "
        "and not suspension"
    )
    run_seconds: float | None = Field(
        description="All runs, each from its first pod's start to its end; null for a job that never ran"
    )
    gpu_seconds: dict[str, float] = Field(
        description="By extended resource: its amount times the seconds from start to end, of all pods of all attempts"
    )
    dependencies: list[DependencyRead] = Field(description="The jobs of its `after`, as they are now")


class AttemptRead(ResponseBody):
    """One run of a job, or of those of its replicas that ran once more."""

    attempt: int = Field(description="From 1")
    state: str = Field(
        description="`pending`, `running`, `succeeded`, `failed`, or `stopped` when it was ended from outside; "
        "of the last attempt of an ended job, the job's own state"
    )
    reason: str | None = Field(description="Why it failed: that of the first pod that did, such as Error or OOMKilled")
    message: str | None
    exit_code: int | None = Field(description="Of that pod")
    task: str | None = Field(description="Of that pod")
    index: int | None = Field(description="Of that pod, within its task")
    started_at: datetime | None = Field(description="When its first pod started")
    ended_at: datetime | None = Field(description="When its last pod ended")
    counts: Counts = Field(description="Its pods; one that was made anew within the attempt counts once")
    gpu_seconds: dict[str, float] = Field(description="By extended resource, of its pods")


class PodRead(ResponseBody):
    """One pod of one attempt, as last seen; it stays here after the pod is gone."""

    uid: str
    name: str
    attempt: int
    task: str
    index: int
    phase: str
    node: str | None
    exit_code: int | None
    reason: str | None
    message: str | None
    restarts: int
    resources: dict[str, str]
    progress: Progress | None = Field(default=None, description="null while its worker has not said how far it is")
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    gone_at: datetime | None


class JobGroup(ResponseBody):
    """How many jobs have one value."""

    value: str
    count: int


class JobGroups(ResponseBody):
    """How many jobs have each value of a field, the most frequent first."""

    group_by: str
    groups: list[JobGroup]
    complete: bool = Field(
        description="False when there are more than `limit` values, or when labels are asked for and more jobs may "
        "have them than the newest 10,000, which alone are counted then"
    )


class EventRead(ResponseBody):
    """One thing that happened to a job."""

    id: int = Field(description="Rises in the order of the feed; a position for `after` and `Last-Event-ID`")
    job_id: UUID
    team: str
    at: datetime
    type: str
    state: str
    reason: str | None
    message: str | None


_AS_STORED = (
    *("id", "name", "team", "queue", "priority", "state", "reason", "message", "attempt", "labels", "submitted_by"),
    *("k8s_namespace", "k8s_name", "created_at", "submitted_at", "started_at", "ended_at", "cancel_reason"),
    *("retries", "resumes", "retry_of"),
)


def job_read(row: Mapping[str, Any]) -> JobRead:
    """A job from its row."""
    return JobRead(**_shown(row))


def job_detail(
    row: Mapping[str, Any], pods: Sequence[Any], links: Iterable[Mapping[str, Any]], now: datetime
) -> JobDetail:
    """A job from its row, those of its pods and what it waits for, at a moment."""
    return JobDetail(
        **_shown(row),
        nodes=nodes(pods),
        queued_seconds=queued_seconds(row, now),
        run_seconds=run_seconds(row, now),
        gpu_seconds=gpu_seconds(row, pods, now),
        dependencies=[dependency_read(link) for link in links],
    )


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in _AS_STORED},
        "state_since": row["state_since"] or row["created_at"],
        "counts": _counts(row["counts"]),
        "progress": _job_progress(row["progress"]),
        "resources": amounts(row["charges"]),
        "spec": masked(row["spec"]),
    }


def _job_progress(stored: Mapping[str, Any] | None) -> JobProgress | None:
    if stored is None or "done" not in stored:
        return None
    return JobProgress(**{name: stored[name] for name in JobProgress.model_fields})


def _counts(counts: Mapping[str, int]) -> Counts:
    return Counts(**{phase: counts.get(phase, 0) for phase in Counts.model_fields})


def attempt_read(attempt: Attempt) -> AttemptRead:
    """An attempt as callers see it."""
    values = {name: getattr(attempt, name) for name in AttemptRead.model_fields}
    return AttemptRead(**{**values, "counts": _counts(attempt.counts)})


def job_groups(group_by: str, groups: Groups) -> JobGroups:
    """Counts as callers see them."""
    counts = [JobGroup(value=value, count=count) for value, count in groups.counts.items()]
    return JobGroups(group_by=group_by, groups=counts, complete=groups.complete)


def pod_read(row: Mapping[str, Any]) -> PodRead:
    """A pod from its row."""
    return PodRead(**{**row, "resources": amounts(row["resources"])})


def event_read(row: Mapping[str, Any]) -> EventRead:
    """An event from its row."""
    return EventRead(**row)


def amounts(charges: Mapping[str, int]) -> dict[str, str]:
    """Whole amounts as texts, as Kubernetes writes quantities."""
    return {resource: str(amount) for resource, amount in charges.items()}


def masked(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A stored spec without the values of its environment variables."""
    tasks = [{**task, "env": dict.fromkeys(task.get("env", {}), MASK)} for task in spec["tasks"]]
    return {**spec, "tasks": tasks}
