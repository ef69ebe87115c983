"""Statuses of a task (Volcano v1.15.1, `pkg/scheduler/api/types.go` and `helpers.go`)."""

from enum import StrEnum

from app.simulator.objects import Object


class TaskStatus(StrEnum):
    """Where a pod is between being created and being done, as the scheduler sees it."""

    PENDING = "Pending"
    ALLOCATED = "Allocated"
    PIPELINED = "Pipelined"
    BINDING = "Binding"
    BOUND = "Bound"
    RUNNING = "Running"
    RELEASING = "Releasing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


ALLOCATED_STATUSES = frozenset({TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.RUNNING, TaskStatus.ALLOCATED})
READY_STATUSES = ALLOCATED_STATUSES | {TaskStatus.SUCCEEDED}
"""A failed pod is not ready, a succeeded one is: one failed pod breaks a rigid gang."""
PROMISED_STATUSES = READY_STATUSES | {TaskStatus.PIPELINED}
EVICTABLE_STATUSES = frozenset({TaskStatus.BOUND, TaskStatus.RUNNING})
SCHEDULED_STATUSES = frozenset({TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.FAILED, TaskStatus.SUCCEEDED})
COMPLETED_STATUSES = frozenset({TaskStatus.FAILED, TaskStatus.SUCCEEDED})
VALID_STATUSES = READY_STATUSES | {TaskStatus.PIPELINED, TaskStatus.PENDING}

_BY_PHASE = {
    "Running": TaskStatus.RUNNING,
    "Succeeded": TaskStatus.SUCCEEDED,
    "Failed": TaskStatus.FAILED,
}


def status_of(pod: Object) -> TaskStatus:
    """The status that a pod's phase, node and deletionTimestamp say."""
    phase = (pod.get("status") or {}).get("phase") or "Pending"
    if phase in ("Running", "Pending") and pod["metadata"].get("deletionTimestamp"):
        return TaskStatus.RELEASING
    if phase == "Pending":
        return TaskStatus.BOUND if pod["spec"].get("nodeName") else TaskStatus.PENDING
    return _BY_PHASE.get(phase, TaskStatus.UNKNOWN)
