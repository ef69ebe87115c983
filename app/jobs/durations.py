"""How long a job waited and ran. Pure: from its row and a moment. Nothing is negative, nothing runs on after the end.

Queue time is not run time (case H-07): waiting for one's turn, running, suspension, and waiting for other jobs are four
things. The first two are told; the other two are in neither.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.jobs.states import WAITING, JobState


def queued_seconds(row: Mapping[str, Any], now: datetime) -> float:
    """Seconds of waiting for one's turn, before the first run and between runs."""
    before = float(row["waited_seconds"])
    if JobState(row["state"]) not in WAITING or row["run_started_at"] is not None or row["open_parents"]:
        return round(before, 3)
    return round(before + between(row["waiting_since"] or row["created_at"], now), 3)


def run_seconds(row: Mapping[str, Any], now: datetime) -> float | None:
    """Seconds of all runs, each from the start of its first pod to its end; None for a job that never ran."""
    if row["started_at"] is None:
        return None
    begun = row["run_started_at"]
    if begun is None and not row["attempt_base"]:
        begun = row["started_at"]  # its only run, seen by a release that knew of no other
    present = 0.0 if begun is None else between(begun, row["ended_at"] or now)
    return round(float(row["ran_seconds"]) + present, 3)


def between(start: datetime, end: datetime) -> float:
    """Seconds from one moment to another; 0 when clocks say the opposite."""
    return max(0.0, (end - start).total_seconds())
