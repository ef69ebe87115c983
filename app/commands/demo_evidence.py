"""What the demo saw through the HTTP API, as plain values that the checks and the view read. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.commands.demo_scenario import GPU
from app.quantity import whole

ENDED = frozenset({"succeeded", "failed", "cancelled", "lost"})
WAITING = frozenset({"held", "submitting", "pending"})


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod of a job; it holds its GPUs from its start to its end. Kubernetes tells both in whole seconds."""

    job: str
    queue: str
    name: str
    phase: str
    node: str | None
    gpus: int
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobSeen:
    """A job at one moment."""

    name: str
    queue: str
    gpus: int
    state: str
    reason: str | None
    message: str | None
    k8s: tuple[str, str]
    attempt: int
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    pods: tuple[PodSeen, ...] = ()
    percent: int | None = None
    """How far its workers say that they are; None while they say nothing."""

    @property
    def nodes(self) -> list[str]:
        """The nodes of its pods, each once."""
        return sorted({pod.node for pod in self.pods if pod.node})

    @property
    def first_pod_started_at(self) -> datetime | None:
        """When the first of its pods started."""
        return min((pod.started_at for pod in self.pods if pod.started_at), default=None)

    @property
    def last_pod_ended_at(self) -> datetime | None:
        """When the last of its pods ended, which is when its GPUs were free; None while one has not ended."""
        ends = [pod.ended_at for pod in self.pods]
        return None if not ends or None in ends else max(end for end in ends if end)


@dataclass(frozen=True, slots=True)
class QueueSeen:
    """A queue at one moment, in GPUs: what Volcano says is allocated, and its PodGroups by phase."""

    name: str
    capability: int
    allocated: int
    pod_groups: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything at one moment, `at` seconds after the first submission."""

    at: float
    jobs: Mapping[str, JobSeen]
    queues: Mapping[str, QueueSeen]

    @property
    def pods(self) -> Iterator[PodSeen]:
        """The pods of all jobs."""
        return (pod for job in self.jobs.values() for pod in job.pods)

    @property
    def settled(self) -> bool:
        """Whether every job has ended and every queue shows that it released its GPUs."""
        return all(job.state in ENDED for job in self.jobs.values()) and not any(
            queue.allocated for queue in self.queues.values()
        )


def job_of(body: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> JobSeen:
    """Read a job and its pods as the API answers them."""
    name, queue = body["name"], body["queue"]
    return JobSeen(
        name=name,
        queue=queue,
        gpus=_gpus(body["resources"]),
        state=body["state"],
        reason=body["reason"],
        message=body["message"],
        k8s=(body["k8s_namespace"], body["k8s_name"]),
        attempt=body["attempt"],
        submitted_at=_time(body["submitted_at"]),
        started_at=_time(body["started_at"]),
        ended_at=_time(body["ended_at"]),
        pods=tuple(_pod(name, queue, pod) for pod in pods),
        percent=_percent(body["progress"]),
    )


def queue_of(body: Mapping[str, Any]) -> QueueSeen:
    """Read a queue as the API answers it."""
    observed = body["observed"] or {}
    return QueueSeen(
        name=body["name"],
        capability=_gpus(body["capability"]),
        allocated=_gpus(observed.get("allocated")),
        pod_groups=dict(observed.get("pod_groups") or {}),
    )


def _pod(job: str, queue: str, body: Mapping[str, Any]) -> PodSeen:
    return PodSeen(
        job=job,
        queue=queue,
        name=body["name"],
        phase=body["phase"],
        node=body["node"],
        gpus=_gpus(body["resources"]),
        started_at=_time(body["started_at"]),
        ended_at=_time(body["ended_at"]),
    )


def _percent(progress: Mapping[str, int] | None) -> int | None:
    if progress is None:
        return None
    return 100 * progress["done"] // progress["total"] if progress["total"] else 0


def _gpus(resources: Mapping[str, Any] | None) -> int:
    return whole((resources or {}).get(GPU, 0))


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
