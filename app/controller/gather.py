"""From rows and caches to the facts that `decide` is told, and from its decision back to what the rows lack. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from app.cluster.observed import ObservedPod, Progress
from app.controller.facts import KILLED, Counts, Decision, JobFacts, PodFacts
from app.controller.plan import Indices, all_needed, plan_of
from app.controller.progress import last_word
from app.jobs import gang
from app.jobs.states import Desired, Ending, JobState
from app.jobs.waiting import queue_deadline

_WRITTEN = ("reason", "message", "attempt", "k8s_uid", "started_at", "ending", "retries", "run_started_at")
_POD_FIELDS = (
    *("uid", "name", "attempt", "task", "index", "phase", "node", "exit_code", "reason", "message", "restarts"),
    *("resources", "created_at", "started_at", "ended_at"),
)


def job_facts(row: Any) -> JobFacts:
    """Read a row of `jobs`."""
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
        replicas=sum(task["replicas"] for task in row.spec["tasks"]),
        min_available=all_needed(row.spec),
        min_success=row.spec.get("min_success"),
        attempt=row.attempt,
        k8s_uid=row.k8s_uid,
        lock_expires_at=row.lock_expires_at,
        submitted_at=row.submitted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        recorded_at=row.recorded_at,
        cleaned_at=row.cleaned_at,
        plan=plan_of(row.spec),
        attempt_base=row.attempt_base,
        whole_base=row.whole_base,
        run_indices=row.run_indices,
        ending=None if row.ending is None else Ending(row.ending),
        retries=row.retries,
        resumes=row.resumes,
        run_started_at=row.run_started_at,
        ran_seconds=row.ran_seconds,
        queue_deadline_at=row.queue_deadline_at,
    )


def pod_facts(
    job: JobFacts,
    seen: Iterable[ObservedPod],
    departed: Iterable[ObservedPod],
    recorded: Iterable[Any],
    read_at: datetime,
    *,
    complete: bool,
) -> tuple[PodFacts, ...]:
    """Join the pods in the cluster with those that went and those that were recorded before.

    Args:
        job: to which they belong.
        seen: in the cluster.
        departed: seen to go, as they were at the last.
        recorded: rows of `job_pods`.
        read_at: the present moment.
        complete: whether the first list of pods is complete; before it, an absence makes no pod gone.
    """
    known = {row.uid: _from_row(row, gone=complete or row.gone_at is not None) for row in recorded}
    before = dict(known)
    known |= {pod.uid: _from_cluster(job, pod, read_at, before.get(pod.uid), gone=True) for pod in departed}
    known |= {pod.uid: _from_cluster(job, pod, read_at, before.get(pod.uid)) for pod in seen}
    return tuple(_numbered(job, known.values()))


def _from_cluster(
    job: JobFacts, pod: ObservedPod, read_at: datetime, before: PodFacts | None, *, gone: bool = False
) -> PodFacts:
    killed = _was_killed(job, pod, before)
    return PodFacts(
        uid=pod.uid,
        name=pod.name,
        task=pod.task,
        index=_index(job.plan.indices(job.run_indices), pod),
        attempt=max(job.attempt_base + (pod.retry_count or 0) + 1, before.attempt if before else 1),
        phase="Failed" if killed else pod.phase,
        created_at=pod.created_at or read_at,
        node=pod.node,
        exit_code=pod.exit_code,
        reason=KILLED if killed else _reason(pod, before),
        message=pod.message or None,
        restarts=pod.restarts,
        resources=pod.resources,
        started_at=pod.started_at,
        ended_at=pod.ended_at,
        progress=last_word(pod, before.progress if before else None),
        deleting=pod.deleting,
        gates=pod.gates,
        gone=gone,
    )


def _index(indices: Indices, pod: ObservedPod) -> int:
    """Volcano numbers the pods of a run from 0; which of the job's indices that is, the run says."""
    number, of_task = pod.index or 0, indices.get(pod.task, ())
    return of_task[number] if number < len(of_task) else number


def _was_killed(job: JobFacts, pod: ObservedPod, before: PodFacts | None) -> bool:
    """Whether a pod ended because its run is stopped on our account, whatever its container says of its end.

    Volcano keeps the pods that had ended before, so one that is deleted then had not. A process that saves its work and
    ends with code 0 when it is told to has not done it; Kubernetes' own Jobs do not count such a pod either.
    """
    if not pod.deleting or pod.phase not in {"Succeeded", "Failed"} or pod.reason == "OOMKilled":
        return False
    stopped = job.ending is not None or job.state is JobState.SUSPENDING
    return stopped and not (before is not None and before.finished and before.reason != KILLED)


def _reason(pod: ObservedPod, before: PodFacts | None) -> str | None:
    """Why a pod failed: the disruption that ended it says more than its container's `Error`."""
    if pod.phase != "Failed":
        return pod.reason or pod.disruption or None
    if before is not None and before.finished:
        return before.reason
    if pod.disruption and pod.reason in {"", "Error"}:
        return pod.disruption
    return pod.reason or pod.disruption or None


def _numbered(job: JobFacts, pods: Iterable[PodFacts]) -> list[PodFacts]:
    """Where pods do not need each other, a pod that follows a failed one of its index is that index's next attempt."""
    if not job.plan.independent:
        return list(pods)
    failures: dict[tuple[str, int], int] = {}
    numbered: list[PodFacts] = []
    for pod in sorted(pods, key=lambda pod: (pod.created_at, pod.uid)):
        key = pod.task, pod.index
        attempt = max(pod.attempt, failures.get(key, 0) + 1)
        numbered.append(replace(pod, attempt=attempt))
        if pod.phase == "Failed":
            failures[key] = attempt
    return numbered


def _from_row(row: Any, *, gone: bool) -> PodFacts:
    progress = None if row.progress is None else Progress(**row.progress)
    return PodFacts(**{name: getattr(row, name) for name in _POD_FIELDS}, progress=progress, gone=gone)


def changed_pods(job_id: Any, pods: Iterable[PodFacts], recorded: Iterable[Any], at: datetime) -> list[dict[str, Any]]:
    """The rows of `job_pods` that have to be written, each with all its columns."""
    known = {row.uid: row for row in recorded}
    changed: list[dict[str, Any]] = []
    for pod in pods:
        row = known.get(pod.uid)
        values = {name: getattr(pod, name) for name in _POD_FIELDS} | {"progress": _written(pod, row)}
        gone_at = (row.gone_at if row is not None and row.gone_at else at) if pod.gone else None
        same = row is not None and row.gone_at == gone_at and values["progress"] is None
        same = same and all(getattr(row, name) == values[name] for name in _POD_FIELDS)
        if not same:
            changed.append({**values, "job_id": job_id, "gone_at": gone_at})
    return changed


def _written(pod: PodFacts, row: Any) -> dict[str, int] | None:
    """What a pod's row has to be told of its progress; None leaves it: a worker may have written there meanwhile."""
    said = None if pod.progress is None else {"done": pod.progress.done, "total": pod.progress.total}
    return None if row is not None and said == row.progress else said


def changed_facts(row: Any, decision: Decision, read_at: datetime) -> dict[str, Any]:
    """The columns of a live job's row that the decision changes, the state aside; reason and message go together."""
    facts = {name: getattr(decision, name) for name in _WRITTEN if getattr(decision, name) != getattr(row, name)}
    if decision.counts != Counts(**row.counts):
        facts["counts"] = decision.counts.as_dict()
    if decision.k8s_uid is not None and row.submitted_at is None:
        facts["submitted_at"] = read_at
    if decision.ended_at is not None:
        facts["ended_at"] = decision.ended_at
    if decision.run_started_at is not None and row.queue_deadline_at is not None:
        facts["queue_deadline_at"] = None
    if "reason" in facts or "message" in facts or decision.state != row.state:
        facts |= {"reason": decision.reason, "message": decision.message}
    return facts | _next_facts(row, decision, read_at)


def _next_facts(row: Any, decision: Decision, read_at: datetime) -> dict[str, Any]:
    """The columns with which a job waits for its next run; the name of its next Volcano Job is the caller's to add."""
    facts: dict[str, Any] = {}
    following = decision.next_run
    if following is not None:
        facts = dict.fromkeys(("released_at", "due_at", "lock_token", "lock_expires_at", "attempted_at"))
        facts |= {"attempt_base": decision.attempt, "ran_seconds": following.ran_seconds}
        if following.anew:
            facts["whole_base"] = decision.attempt
        facts["run_indices"] = None if following.run_indices is None else dict(following.run_indices)
    if decision.state is JobState.HELD and row.state != JobState.HELD:
        facts |= waiting_facts(row.spec, read_at)
    return facts


def longest_suffix(job: JobFacts) -> str:
    """What the longest name of a pod of a job adds to that of its Volcano Job."""
    return gang.longest_suffix((task.name, len(task.indices)) for task in job.plan.tasks)


def waiting_facts(spec: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """The columns of a job that begins to wait."""
    return {"waiting_since": at, "queue_deadline_at": queue_deadline(spec.get("queue_timeout_seconds"), at)}
