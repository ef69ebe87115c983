import re
from pathlib import Path

import pytest

from app.jobs.states import TERMINAL, JobState
from app.webhooks.event_types import KNOWN_TYPES, type_of


@pytest.mark.parametrize(
    ("event", "state", "expected"),
    [
        ("accepted", "held", "job.accepted"),
        ("submitted", "submitting", "job.submitted"),
        ("put-back", "held", "job.put_back"),
        ("state", "pending", "job.pending"),
        ("state", "running", "job.running"),
        ("reason", "pending", "job.reason"),
        ("attempt", "running", "job.attempt"),
        ("state", "succeeded", "job.succeeded"),
        ("state", "cancelled", "job.cancelled"),
        ("cancel", "cancelling", "job.cancel"),
        ("cancel", "cancelled", "job.cancelled"),  # a held job ends at once
        ("attempt", "failed", "job.attempt"),
    ],
)
def test_the_type_of_an_event(event: str, state: str, expected: str) -> None:
    assert type_of(event, state) == expected
    assert expected in KNOWN_TYPES


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_an_end_has_one_name_whatever_brought_it_about(state: JobState) -> None:
    assert {type_of(event, state) for event in ("state", "cancel", "accepted", "something-new")} == {f"job.{state}"}


def test_every_event_that_the_docs_name_can_be_asked_for_and_no_other() -> None:
    page = (Path(__file__).parents[3] / "docs" / "events.md").read_text().partition("## Types")[2].partition("##")[0]
    events = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    assert {"accepted", "state", "submitted"} <= events
    beside_states = set(KNOWN_TYPES) - {f"job.{state}" for state in JobState}
    assert beside_states == {type_of(event, "pending") for event in events - {"state"}}
