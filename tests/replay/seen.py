"""What Pumice says of a job, its pods, its history and a queue, in the words of the expectations."""

from datetime import datetime
from typing import Any
from uuid import UUID

from tests.replay.expected.rows import Queue, Row
from tests.replay.world import World

GPU = "nvidia.com/gpu"
SUBMITTED = ("held WaitingForRelease", "held", "submitting", "pending")
"""Accepted, released, claimed and sent."""


async def history_of(world: World, job_id: UUID) -> list[str]:
    """Each entry as `state reason`, with the attempt in front where a new run was seen."""
    attempt, lines = 1, []
    for event in await world.history(job_id):
        attempt += event.type == "attempt"
        number = [f"attempt {attempt}"] if event.type == "attempt" else []
        lines.append(" ".join([*number, event.state, *([event.reason] if event.reason else [])]))
    return lines


def row_of(job: Any) -> dict[str, Any]:
    """The facts of a row that a `Row` names, but for the history and the pods."""
    counts = ", ".join(
        f"{job.counts[name]} {name}" for name in ("running", "succeeded", "failed", "pending") if job.counts.get(name)
    )
    return {
        "state": " ".join([job.state, *([job.reason] if job.reason else [])]),
        "counts": counts,
        "started": _time_of_day(job.started_at),
        "ended": _time_of_day(job.ended_at),
        "attempt": job.attempt,
    }


def wanted_row(row: Row) -> dict[str, Any]:
    """The same of what is expected."""
    last = row.history.split("|")[-1].split()
    state = last[2:] if last[0] == "attempt" else last
    return {
        "state": " ".join(state),
        "counts": row.counts,
        "started": row.started,
        "ended": row.ended,
        "attempt": row.attempt,
    }


async def pods_of(world: World, job_id: UUID) -> list[str]:
    lines = []
    for pod in await world.pods(job_id):
        facts = (pod.name, pod.attempt, pod.phase, pod.node, pod.exit_code, pod.reason)
        words = ["-" if fact is None else str(fact) for fact in facts]
        lines.append(" ".join([*words, *(["gone"] if pod.gone_at else [])]))
    return sorted(lines)


async def queue_of(world: World, name: str) -> Queue | None:
    seen = (await world.queue(name)).observed
    if seen is None:
        return None
    gpus, drift = int(seen["allocated"].get(GPU, 0)), seen["drift"].get(GPU, 0)
    return Queue(seen["state"], gpus, **seen["pod_groups"], drift=drift)


def _time_of_day(at: datetime | None) -> str | None:
    """The cluster's stamps have whole seconds; what Pumice noticed by itself has the milliseconds of the event."""
    if at is None:
        return None
    return f"{at:%H:%M:%S}" + (f".{at.microsecond // 1000:03d}" if at.microsecond else "")
