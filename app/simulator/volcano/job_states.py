"""The Job's state machine (volcano-facts 2.3; `pkg/controllers/job/state` of Volcano v1.15.1)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from app.simulator.objects import Object

RETAIN_NONE: frozenset[str] = frozenset()
RETAIN_ENDED = frozenset({"Succeeded", "Failed"})
FINISHED = frozenset({"Completed", "Failed", "Terminated"})
TARGETED = frozenset({"RestartTask", "RestartPod", "RestartPartition"})


class Effect(StrEnum):
    """What the controller does with a Job's pods."""

    SYNC = "sync"
    KILL = "kill"
    KILL_TARGET = "kill target"


NextPhase = Callable[[Object, Object], str | None]
"""From the Job's spec and its counted status: the next phase, or None to stay."""


@dataclass(frozen=True, slots=True)
class Transition:
    """How one action is carried out in one phase.

    `retain` are the pod phases that a kill leaves alone. `counts` says that `retryCount` is raised.
    """

    effect: Effect
    next_phase: NextPhase
    retain: frozenset[str] = RETAIN_NONE
    counts: bool = False


def transition(phase: str, action: str) -> Transition:
    """Return what `action` means for a Job in `phase`; an unknown phase counts as Pending, as in Volcano."""
    if phase in FINISHED:
        return Transition(Effect.KILL, _stay, RETAIN_ENDED)
    if phase in ("Aborting", "Aborted"):
        return _suspended(phase, action)
    if phase == "Completing":
        return Transition(Effect.KILL, _when_nothing_lives("Completed"), RETAIN_ENDED)
    if phase == "Terminating":
        return Transition(Effect.KILL, _when_nothing_lives("Terminated"), RETAIN_ENDED)
    if phase == "Restarting":
        return _restarting(action)
    return _active(phase, action)


def _suspended(phase: str, action: str) -> Transition:
    if action == "ResumeJob":
        return Transition(Effect.KILL, _to("Restarting"), RETAIN_ENDED, counts=True)
    if phase == "Aborted":
        return Transition(Effect.KILL, _stay, RETAIN_ENDED)
    return Transition(Effect.KILL, _when_nothing_lives("Aborted"), RETAIN_ENDED)


def _restarting(action: str) -> Transition:
    if action == "SyncJob":
        return Transition(Effect.SYNC, after_restart)
    if action in TARGETED:
        return Transition(Effect.KILL_TARGET, after_restart)
    return Transition(Effect.KILL, after_restart)


_ENDINGS = {"AbortJob": "Aborting", "TerminateJob": "Terminating", "CompleteJob": "Completing"}


def _active(phase: str, action: str) -> Transition:
    if action == "RestartJob":
        return Transition(Effect.KILL, _to("Restarting"), counts=True)
    if action in TARGETED:
        return Transition(Effect.KILL_TARGET, _to("Restarting"), counts=True)
    if action in _ENDINGS:
        return Transition(Effect.KILL, _to(_ENDINGS[action]), RETAIN_ENDED)
    return Transition(Effect.SYNC, after_running if phase == "Running" else after_pending)


def _to(phase: str) -> NextPhase:
    return lambda _spec, _status: phase


def _stay(_spec: Object, _status: Object) -> str | None:
    return None


def _when_nothing_lives(phase: str) -> NextPhase:
    def after_kill(_spec: Object, status: Object) -> str | None:
        alive = status.get("terminating", 0) + status.get("pending", 0) + status.get("running", 0)
        return None if alive else phase

    return after_kill


def after_pending(spec: Object, status: Object) -> str | None:
    """Running as soon as the gang's minimum runs or has ended."""
    ready = status.get("running", 0) + status.get("succeeded", 0) + status.get("failed", 0)
    return "Running" if spec.get("minAvailable", 0) <= ready else None


def after_restart(spec: Object, status: Object) -> str | None:
    """Failed when the retries are used up, Pending once enough of the old pods are gone."""
    if status.get("retryCount", 0) >= spec.get("maxRetry", 0):
        return "Failed"
    free = total_replicas(spec) - status.get("terminating", 0)
    return "Pending" if free >= status.get("minAvailable", 0) else None


def after_running(spec: Object, status: Object) -> str | None:
    """The verdict on a running Job: ended, lost its pods, or goes on."""
    total = total_replicas(spec)
    if total == 0:
        return None
    succeeded = status.get("succeeded", 0)
    if spec.get("minSuccess") is not None and succeeded >= spec["minSuccess"]:
        return "Completed"
    if succeeded + status.get("failed", 0) == total:
        return _verdict(spec, status)
    if status.get("pending", 0) > total - spec.get("minAvailable", 0):
        return "Pending"
    return None


def _verdict(spec: Object, status: Object) -> str:
    succeeded = status.get("succeeded", 0)
    if spec.get("minAvailable", 0) >= total_task_minimum(spec) and _some_task_short(spec, status):
        return "Failed"
    if spec.get("minSuccess") is not None:
        return "Failed"
    return "Completed" if succeeded >= spec.get("minAvailable", 0) else "Failed"


def _some_task_short(spec: Object, status: Object) -> bool:
    counts = status.get("taskStatusCount") or {}
    for task in spec["tasks"]:
        if task.get("minAvailable") is None or task["name"] not in counts:
            continue
        if counts[task["name"]]["phase"].get("Succeeded", 0) < task["minAvailable"]:
            return True
    return False


def total_replicas(spec: Object) -> int:
    """Pods of all tasks."""
    return sum(task.get("replicas", 0) for task in spec.get("tasks", []))


def total_task_minimum(spec: Object) -> int:
    """Sum of the tasks' minAvailable; a task without one counts with all its replicas."""
    return sum(task_minimum(task) for task in spec.get("tasks", []))


def task_minimum(task: Object) -> int:
    """A task's minAvailable, else of its partition policy, else its replicas (`getMinTaskMember`)."""
    if task.get("minAvailable") is not None:
        return int(task["minAvailable"])
    policy = task.get("partitionPolicy") or {}
    partitions = policy.get("minPartitions", 0) * policy.get("partitionSize", 0)
    return int(partitions or task.get("replicas", 0))
