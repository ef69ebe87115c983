"""How long a job waited and ran, at any moment of its life."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.jobs.durations import queued_seconds, run_seconds

DAY = datetime(2030, 1, 1, tzinfo=UTC)


def at(clock: str) -> datetime:
    hours, minutes = clock.split(":")
    return DAY + timedelta(hours=int(hours), minutes=int(minutes))


def row(state: str, **fields: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("waiting_since", "run_started_at", "started_at", "ended_at"))
    zero = dict.fromkeys(("waited_seconds", "ran_seconds", "attempt_base", "open_parents"), 0)
    return {**nothing, **zero, "state": state, "created_at": at("10:00"), **fields}


FIRST_RUN = {"waited_seconds": 7200.0, "started_at": at("12:00"), "run_started_at": at("12:00")}
SUSPENDED = {"waited_seconds": 7200.0, "started_at": at("12:00"), "ran_seconds": 1800.0, "attempt_base": 1}
SECOND_RUN = {**SUSPENDED, "run_started_at": at("13:00"), "waiting_since": at("13:00")}


@pytest.mark.parametrize(
    ("job", "clock", "queued", "ran"),
    [
        (row("held"), "11:00", 3600, None),
        (row("pending"), "11:30", 5400, None),
        (row("held", open_parents=2), "11:30", 0, None),
        (row("running", **FIRST_RUN), "12:10", 7200, 600),
        (row("pending", **FIRST_RUN), "12:10", 7200, 600),
        (row("suspended", **SUSPENDED), "12:59", 7200, 1800),
        (row("held", **SUSPENDED, waiting_since=at("13:00")), "13:01", 7260, 1800),
        (row("running", **SECOND_RUN), "13:10", 7200, 2400),
        (row("succeeded", **SECOND_RUN, ended_at=at("13:15")), "13:15", 7200, 2700),
        (row("succeeded", **SECOND_RUN, ended_at=at("13:15")), "23:00", 7200, 2700),
        (row("cancelled", waited_seconds=60.0, ended_at=at("10:01")), "23:00", 60, None),
        (row("cancelled", **SUSPENDED, ended_at=at("14:00")), "23:00", 7200, 1800),
        (row("succeeded", started_at=at("12:00"), ended_at=at("12:30")), "23:00", 0, 1800),
        # clocks that disagree
        (row("held"), "09:59", 0, None),
        (row("running", started_at=at("12:00"), run_started_at=at("12:00")), "11:59", 0, 0),
        (row("failed", started_at=at("12:00"), run_started_at=at("12:00"), ended_at=at("11:59")), "13:00", 0, 0),
    ],
)
def test_queue_time_is_not_run_time(job: dict[str, Any], clock: str, queued: float, ran: float | None) -> None:
    assert queued_seconds(job, at(clock)) == queued
    assert run_seconds(job, at(clock)) == ran
