"""The phase of a PodGroup after a session (Volcano v1.15.1, `framework/session.go`; volcano-facts 6.1)."""

from app.simulator.objects import Object
from app.simulator.volcano.scheduler.model import Job
from app.simulator.volcano.scheduler.statuses import COMPLETED_STATUSES, SCHEDULED_STATUSES, TaskStatus

INQUEUE = "Inqueue"
_COUNTED = ("running", "succeeded", "failed")
_IGNORED = ("lastTransitionTime", "transitionID")


def phase_of(job: Job, *, unschedulable: bool) -> str:
    """The phase; `unschedulable` says that this session wrote the condition Unschedulable.

    A task that is being bound is not "scheduled", so the session that binds still leaves Inqueue.
    """
    if unschedulable and job.count(TaskStatus.RUNNING):
        return "Unknown"
    scheduled = job.count_in(SCHEDULED_STATUSES)
    if scheduled >= job.minimum:
        return "Completed" if scheduled == job.count_in(COMPLETED_STATUSES) else "Running"
    return INQUEUE if job.phase == INQUEUE else "Pending"


def status_of(job: Job, conditions: list[Object], phase: str) -> Object:
    """A whole status: what is empty or zero is left out, as Go leaves it out."""
    counts = {
        "running": job.count(TaskStatus.RUNNING),
        "succeeded": job.count(TaskStatus.SUCCEEDED),
        "failed": job.count(TaskStatus.FAILED),
    }
    status: Object = {"conditions": conditions} if conditions else {}
    return status | {"phase": phase} | {name: number for name, number in counts.items() if number}


def differs(new: Object, old: Object) -> bool:
    """Whether a status is worth writing: new times and transition ids alone are not."""
    return _essence(new) != _essence(old)


def _essence(status: Object) -> tuple[object, ...]:
    counts = tuple(status.get(name) or 0 for name in _COUNTED)
    conditions = [
        {name: value for name, value in condition.items() if name not in _IGNORED and value != ""}
        for condition in status.get("conditions") or ()
    ]
    return status.get("phase") or "", counts, conditions
