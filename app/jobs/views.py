"""What callers read about jobs. Values of environment variables are never among it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from app.jobs.states import JobState
from app.schema_base import ResponseBody

MASK = "***"

_STATES = ", ".join(JobState)


class Counts(ResponseBody):
    """Pods of the present attempt by what they do."""

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
    counts: Counts
    progress: JobProgress | None = Field(default=None, description="null while no worker has said how far it is")
    attempt: int = Field(description="Runs so far; 0 before the first")
    resources: dict[str, str] = Field(description="Extended resources of all replicas, as charged to the quota")
    labels: dict[str, str]
    submitted_by: str
    k8s_namespace: str
    k8s_name: str = Field(description="Name of the Volcano Job")
    created_at: datetime
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    cancel_reason: str | None
    retry_of: UUID | None = Field(description="The ended job that this one runs again")
    spec: dict[str, Any] = Field(description="The body as accepted, with defaults filled in and env values as `***`")


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
    "retry_of",
)


def job_read(row: Mapping[str, Any]) -> JobRead:
    """A job from its row."""
    return JobRead(
        **{name: row[name] for name in _AS_STORED},
        counts=Counts(**{phase: row["counts"].get(phase, 0) for phase in Counts.model_fields}),
        progress=_job_progress(row["progress"]),
        resources=amounts(row["charges"]),
        spec=masked(row["spec"]),
    )


def _job_progress(stored: Mapping[str, Any] | None) -> JobProgress | None:
    if stored is None or "done" not in stored:
        return None
    return JobProgress(**{name: stored[name] for name in JobProgress.model_fields})


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
