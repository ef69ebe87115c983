"""From rows and caches to the facts that `decide` is told, and from its decision back to what the rows lack. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from app.cluster.observed import ObservedPod
from app.controller.facts import Counts, Decision, JobFacts, PodFacts
from app.jobs.states import Desired, JobState

_WRITTEN = ("reason", "message", "attempt", "k8s_uid", "started_at")
_POD_FIELDS = (
    *("uid", "name", "attempt", "task", "index", "phase", "node", "exit_code", "reason", "message", "restarts"),
    *("resources", "created_at", "started_at", "ended_at"),
)


def job_facts(row: Any) -> JobFacts:
    """Read a row of `jobs`."""
    tasks = row.spec["tasks"]
    replicas = sum(task["replicas"] for task in tasks)
    return JobFacts(
        id=row.id,
        team=row.team,
        queue=row.queue,
        k8s_namespace=row.k8s_namespace,
        k8s_name=row.k8s_name,
        desired=Desired(row.desired),
        state=JobState(row.state),
        reason=row.reason,
        message=row.message,
        counts=Counts(**row.counts),
        replicas=replicas,
        min_available=_all_needed(row.spec, replicas),
        min_success=row.spec.get("min_success"),
        attempt=row.attempt,
        k8s_uid=row.k8s_uid,
        lock_expires_at=row.lock_expires_at,
        submitted_at=row.submitted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        recorded_at=row.recorded_at,
        cleaned_at=row.cleaned_at,
    )


def _all_needed(spec: Mapping[str, Any], replicas: int) -> int:
    """How many pods have to succeed for Volcano to call the Job Completed (volcano-facts 2.3, state Running)."""
    given: int | None = spec.get("min_available")
    tasks = [task for task in spec["tasks"] if not task.get("depends_on")]
    least: list[int] = [
        task["replicas"] if task.get("min_available") is None else task["min_available"] for task in tasks
    ]
    return min(replicas, sum(least) if given is None else given)


def pod_facts(
    seen: Iterable[ObservedPod],
    departed: Iterable[ObservedPod],
    recorded: Iterable[Any],
    read_at: datetime,
    *,
    complete: bool,
) -> tuple[PodFacts, ...]:
    """Join the pods in the cluster with those that went and those that were recorded before.

    Args:
        seen: in the cluster.
        departed: seen to go, as they were at the last.
        recorded: rows of `job_pods`.
        read_at: the present moment.
        complete: whether the first list of pods is complete; before it, an absence makes no pod gone.
    """
    known = {row.uid: _from_row(row, gone=complete or row.gone_at is not None) for row in recorded}
    known |= {pod.uid: _from_cluster(pod, read_at, gone=True) for pod in departed}
    known |= {pod.uid: _from_cluster(pod, read_at) for pod in seen}
    return tuple(known.values())


def _from_cluster(pod: ObservedPod, read_at: datetime, *, gone: bool = False) -> PodFacts:
    return PodFacts(
        uid=pod.uid,
        name=pod.name,
        task=pod.task,
        index=pod.index or 0,
        attempt=(pod.retry_count or 0) + 1,
        phase=pod.phase,
        created_at=pod.created_at or read_at,
        node=pod.node,
        exit_code=pod.exit_code,
        reason=pod.reason or pod.disruption or None,
        message=pod.message or None,
        restarts=pod.restarts,
        resources=pod.resources,
        started_at=pod.started_at,
        ended_at=pod.ended_at,
        deleting=pod.deleting,
        gone=gone,
    )


def _from_row(row: Any, *, gone: bool) -> PodFacts:
    return PodFacts(**{name: getattr(row, name) for name in _POD_FIELDS}, gone=gone)


def changed_pods(job_id: Any, pods: Iterable[PodFacts], recorded: Iterable[Any], at: datetime) -> list[dict[str, Any]]:
    """The rows of `job_pods` that have to be written, each with all its columns."""
    known = {row.uid: row for row in recorded}
    changed: list[dict[str, Any]] = []
    for pod in pods:
        row = known.get(pod.uid)
        values = {name: getattr(pod, name) for name in _POD_FIELDS}
        gone_at = (row.gone_at if row is not None and row.gone_at else at) if pod.gone else None
        same = row is not None and row.gone_at == gone_at and all(getattr(row, n) == v for n, v in values.items())
        if not same:
            changed.append({**values, "job_id": job_id, "gone_at": gone_at})
    return changed


def changed_facts(row: Any, decision: Decision, read_at: datetime) -> dict[str, Any]:
    """The columns of a live job's row that the decision changes, the state aside; reason and message go together."""
    facts = {name: getattr(decision, name) for name in _WRITTEN if getattr(decision, name) != getattr(row, name)}
    if decision.counts != Counts(**row.counts):
        facts["counts"] = decision.counts.as_dict()
    if decision.k8s_uid is not None and row.submitted_at is None:
        facts["submitted_at"] = read_at
    if decision.ended_at is not None:
        facts["ended_at"] = decision.ended_at
    if "reason" in facts or "message" in facts or decision.state != row.state:
        facts |= {"reason": decision.reason, "message": decision.message}
    return facts
