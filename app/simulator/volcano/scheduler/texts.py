"""The texts of conditions and events, word for word (Volcano v1.15.1; volcano-facts 6.3).

They tell at which step a pod failed, not why: no text names the queue, its capability or its share.
"""

from collections import Counter
from collections.abc import Iterable

from app.simulator.volcano.scheduler.model import Job, Placement, Task
from app.simulator.volcano.scheduler.statuses import TaskStatus

UNSCHEDULABLE = "Unschedulable"
SCHEDULABLE = "Schedulable"
SCHEDULER_ERROR = "SchedulerError"
EVICT = "Evict"
READY = "pod group is ready"
NOT_READY = "pod group is not ready"


def cluster_overused(names: Iterable[str]) -> str:
    """What overcommit says when it refuses."""
    return f"resource in cluster is overused: {', '.join(f'overused {name}' for name in names)}"


def quota_insufficient(names: Iterable[str]) -> str:
    """What proportion says when it refuses."""
    return f"queue resource quota insufficient: {', '.join(f'insufficient {name}' for name in names)}"


def evicted(reason: str) -> str:
    """What an evicted pod is told; the reason is the name of the action."""
    return f"Pod is evicted, because of {reason}"


def nodes_unavailable(reasons: Iterable[str]) -> str:
    """Why each node was not taken, one reason a node."""
    counts = Counter(reasons)
    if not counts:
        return "0/0 nodes are unavailable"
    return f"0/{counts.total()} nodes are unavailable: {_histogram(counts)}."


def role_failed_before(task: Task) -> str:
    """A task that was not tried because another of its role had failed."""
    return f"Task {task.facts.name} with role spec {task.facts.role} has already predicated failed, skip"


def gang_unschedulable(tasks: int, job: Job, fit: str) -> str:
    """The text of the condition and, with another first number, of the event."""
    return f"{tasks}/{len(job.tasks)} tasks in gang unschedulable: {fit}"


def job_fit(job: Job) -> str:
    """Why a job is or is not ready: counts by status, then of what the waiting pods say, then one pod's own reason."""
    counts = Counter({str(status): len(tasks) for status, tasks in job.by_status.items() if tasks})
    counts["minAvailable"] = job.minimum
    text = f"{READY if job.is_ready() else NOT_READY}, {_histogram(counts)}"
    reasons = Counter(task_reason(job, task)[0] for task in job.pending())
    if reasons:
        text += f"; Pending: {_histogram(reasons)}"
    for uid, error in job.fit_errors.items():
        name = next(task.facts.name for task in job.tasks if task.facts.uid == uid)
        return f"{text}. Origin reason is {name}: {error}"
    return text


def placement(task: Task) -> Placement:
    """Where a task was last to go: what was given up is told rather than what is."""
    return task.discarded or Placement(task.status, task.node, task.evicts)


def task_reason(job: Job, task: Task) -> tuple[str, str]:
    """Reason and message of a pod's condition; an empty message stands for the job's text."""
    status, node, _ = placement(task)
    assigned = f"Pod {task.facts.namespace}/{task.facts.name} can possibly be assigned to {node}, once "
    if status == TaskStatus.ALLOCATED:
        return SCHEDULABLE, assigned + "minAvailable is satisfied"
    if status == TaskStatus.PIPELINED:
        return UNSCHEDULABLE, assigned + "resource is released and minAvailable is satisfied"
    return UNSCHEDULABLE, job.fit_errors.get(task.facts.uid, "")


def _histogram(counts: Counter[str]) -> str:
    """`<count> <what>`, sorted as strings: 10 comes before 2."""
    return ", ".join(sorted(f"{count} {what}" for what, count in counts.items()))
