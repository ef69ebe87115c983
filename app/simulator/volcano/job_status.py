"""A Job's status: what the controller counts and how it writes it (volcano-facts 1.3, 2.5, 2.6)."""

from collections.abc import Iterable
from datetime import UTC, datetime

from app.simulator.objects import Object
from app.simulator.volcano.durations import text
from app.simulator.volcano.names import TASK_SPEC, annotation

COUNTERS = ("pending", "running", "succeeded", "failed", "terminating", "unknown")
_BY_PHASE = {"Pending": "pending", "Running": "running", "Succeeded": "succeeded", "Failed": "failed"}


def phase_of(job: Object) -> str:
    """`status.state.phase`; empty before the controller has seen the Job."""
    return str(((job.get("status") or {}).get("state") or {}).get("phase") or "")


def count(pods: Iterable[Object], terminating: int) -> Object:
    """Return counters and `taskStatusCount` of living pods; zero is left out, as Go's `omitempty` does."""
    counters = dict.fromkeys(COUNTERS, 0)
    counters["terminating"] = terminating
    tasks: Object = {}
    for pod in pods:
        phase = str((pod.get("status") or {}).get("phase") or "Pending")
        counters[_BY_PHASE.get(phase, "unknown")] += 1
        task = annotation(pod, TASK_SPEC)
        if task is not None:
            phases = tasks.setdefault(task, {"phase": {}})["phase"]
            known = phase if phase in _BY_PHASE else "Unknown"
            phases[known] = phases.get(known, 0) + 1
    status: Object = {name: number for name, number in counters.items() if number}
    if tasks:
        status["taskStatusCount"] = tasks
    return status


def enter(status: Object, phase: str | None, now: str) -> Object:
    """Return the status with the time of this write, in `phase` if one is given.

    Any write moves `lastTransitionTime`, and the condition of the present phase to the end of the list.
    """
    changed = dict(status)
    current = phase or (changed.get("state") or {}).get("phase") or "Pending"
    changed["state"] = {**(changed.get("state") or {}), "phase": current, "lastTransitionTime": now}
    kept = [condition for condition in changed.get("conditions") or [] if condition["status"] != current]
    changed["conditions"] = [*kept, {"status": current, "lastTransitionTime": now}]
    return changed


def with_counts(status: Object, counts: Object) -> Object:
    """Return the status with its counters replaced."""
    kept = {key: value for key, value in status.items() if key not in (*COUNTERS, "taskStatusCount")}
    return {**kept, **counts}


def running_duration(created: str, last_transition: str) -> str:
    """From creation to the last transition, so queueing counts; Volcano writes it on each kill."""
    return text((instant(last_transition) - instant(created)).total_seconds())


def instant(stamp: str) -> datetime:
    """Read an RFC 3339 time in UTC."""
    return datetime.fromisoformat(stamp).astimezone(UTC)
