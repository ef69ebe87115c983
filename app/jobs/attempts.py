"""The attempts of a job and what its pods used. Pure: from the recorded pods, whether they are gone or not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.jobs.durations import between
from app.jobs.states import TERMINAL, JobState

KILLED = "Killed"
"""Reason of a pod that was stopped because its run was; it explains nothing."""

MAXIMUM_NODES = 100

_PHASES = {
    "Pending": "pending",
    "Running": "running",
    "Unknown": "running",
    "Succeeded": "succeeded",
    "Failed": "failed",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a job, or of those of its replicas that ran once more.

    Attributes:
        state: pending, running, succeeded, failed or stopped; of the last one, what became of the job.
        exit_code, task, index: of the pod that explains the failure.
        gpu_seconds: by resource.
    """

    attempt: int
    state: str
    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None
    task: str | None = None
    index: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    gpu_seconds: Mapping[str, float] = field(default_factory=dict)


def attempts(job: Mapping[str, Any], pods: Iterable[Any], now: datetime) -> list[Attempt]:
    """Every attempt of a job, the first one first.

    Args:
        job: its row.
        pods: all its rows of `job_pods`.
        now: until when pods that still run are counted.
    """
    by_number: dict[int, list[Any]] = {number: [] for number in range(1, job["attempt"] + 1)}
    for pod in pods:
        by_number.setdefault(pod.attempt, []).append(pod)
    last = max(by_number, default=0)
    return [_attempt(job, number, by_number[number], now, last=number == last) for number in sorted(by_number)]


def _attempt(job: Mapping[str, Any], number: int, pods: Sequence[Any], now: datetime, *, last: bool) -> Attempt:
    present, told = _newest(pods), _explains(pods)
    over = last and JobState(job["state"]) in TERMINAL
    state = str(job["state"]) if over else _state(present, told)
    why: dict[str, Any] = {}
    if state == JobState.FAILED and told is not None:
        why = {name: getattr(told, name) for name in ("reason", "message", "exit_code", "task", "index")}
    elif over and state != JobState.SUCCEEDED:
        why = {name: job[name] for name in ("reason", "message")}
    return Attempt(
        attempt=number,
        state=state,
        started_at=min((pod.started_at for pod in pods if pod.started_at is not None), default=None),
        ended_at=_ended_at(job, pods, last=last),
        counts=_counts(present),
        gpu_seconds=gpu_seconds(job, pods, now),
        **why,
    )


def _newest(pods: Iterable[Any]) -> list[Any]:
    """The last pod of each name: one that was made anew has its predecessor's name and another uid."""
    by_name = {pod.name: pod for pod in sorted(pods, key=lambda pod: (pod.gone_at is None, pod.created_at, pod.uid))}
    return list(by_name.values())


def _explains(pods: Iterable[Any]) -> Any | None:
    """The first pod that failed by itself."""
    failed = [pod for pod in pods if pod.phase == "Failed" and pod.reason != KILLED]
    return min(failed, key=lambda pod: (pod.ended_at or pod.gone_at or pod.created_at, pod.name), default=None)


def _state(present: Sequence[Any], failure: Any | None) -> str:
    if any(_lives(pod) for pod in present) or not present:
        return "running" if any(pod.started_at is not None for pod in present) else "pending"
    if all(pod.phase == "Succeeded" for pod in present):
        return "succeeded"
    return "stopped" if failure is None else "failed"


def _lives(pod: Any) -> bool:
    return pod.gone_at is None and pod.phase not in {"Succeeded", "Failed"}


def _ended_at(job: Mapping[str, Any], pods: Sequence[Any], *, last: bool) -> datetime | None:
    """When its last pod ended; of the last attempt of an ended job, when the job did."""
    if last and job["ended_at"] is not None:
        ended: datetime = job["ended_at"]
        return ended
    if not pods or any(_lives(pod) for pod in pods):
        return None
    ends: list[datetime] = [pod.ended_at or pod.gone_at or pod.created_at for pod in pods]
    return max(ends)


def _counts(present: Iterable[Any]) -> dict[str, int]:
    """Pods by what they do; one that went without an end is none of it."""
    counts = dict.fromkeys(("pending", "running", "succeeded", "failed"), 0)
    for pod in present:
        if pod.gone_at is None or pod.phase in {"Succeeded", "Failed"}:
            counts[_PHASES.get(pod.phase, "pending")] += 1
    return counts


def gpu_seconds(job: Mapping[str, Any], pods: Iterable[Any], now: datetime) -> dict[str, float]:
    """What pods used: the amount of each resource times the seconds from the pod's start to its end.

    A pod of which no end is known ends when it was seen to be gone, at the latest with its job.
    """
    used: dict[str, float] = {}
    for pod in pods:
        if pod.started_at is None:
            continue
        seconds = between(pod.started_at, pod.ended_at or pod.gone_at or job["ended_at"] or now)
        for resource, amount in pod.resources.items():
            used[resource] = used.get(resource, 0.0) + amount * seconds
    return {resource: round(amount, 3) for resource, amount in sorted(used.items())}


def nodes(pods: Iterable[Any]) -> list[str]:
    """Names of the nodes on which a job's pods are now, at most `MAXIMUM_NODES` of them."""
    return sorted({pod.node for pod in pods if pod.node is not None and _lives(pod)})[:MAXIMUM_NODES]
