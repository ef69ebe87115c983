"""The check of the crash tests can fail: each kind of harm, done to good evidence, is found."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from tests.crash.clusters import Creation
from tests.crash.invariants import Evidence, violations

ENDED = datetime(2026, 1, 1, tzinfo=UTC)
DONE, LIVE = UUID(int=1), UUID(int=2)


def _row(job_id: UUID, state: str, **facts: Any) -> Any:
    ended = state in {"succeeded", "failed", "cancelled", "lost"}
    row = {
        "id": job_id,
        "name": f"job-{job_id.int}",
        "state": state,
        "ended_at": ENDED if ended else None,
        "cleaned_at": ENDED if ended else None,
        "k8s_namespace": "team",
        "k8s_name": f"n-{job_id.int}",
        "k8s_uid": f"uid-{job_id.int}",
        "charged": not ended,
        "charges": {"gpu": 2},
        "counts": {"succeeded": 1},
        "spec": {"tasks": [{"replicas": 1}]},
    }
    return SimpleNamespace(**row | facts)


def _events(job_id: UUID, *states: str) -> list[Any]:
    return [SimpleNamespace(job_id=job_id, state=state) for state in states]


GOOD = Evidence(
    rows=[_row(DONE, "succeeded"), _row(LIVE, "running")],
    events=[
        *_events(DONE, "held", "submitting", "pending", "running", "succeeded"),
        *_events(LIVE, "held", "submitting", "pending", "running"),
    ],
    usage={"gpu": 2, "count/jobs": 1, "other": 0},
    creations=[Creation("team", "n-1", "uid-1"), Creation("team", "n-2", "uid-2")],
    shown={str(LIVE): "uid-2"},
    ends={DONE: ("succeeded", ENDED)},
)
LIVE_ROW = GOOD.rows[1]

HARM: dict[str, tuple[dict[str, Any], str]] = {
    "created twice": ({"creations": [*GOOD.creations, Creation("team", "n-1", "uid-3")]}, "was created 2 times"),
    "created and unknown": ({"creations": [*GOOD.creations, Creation("team", "n-9", "uid-9")]}, "has no row"),
    "never created": ({"creations": GOOD.creations[1:]}, "created was []"),
    "another uid": ({"creations": [Creation("team", "n-1", "uid-8"), GOOD.creations[1]]}, "created was ['uid-8']"),
    "not adopted": ({"rows": [_row(DONE, "cancelled", k8s_uid=None), LIVE_ROW]}, "knows nothing of the Volcano Job"),
    "another end": ({"rows": [_row(DONE, "lost"), LIVE_ROW]}, "had ended"),
    "another time of the end": ({"ends": {DONE: ("succeeded", None)}}, "had ended"),
    "an end that is lost": ({"ends": {UUID(int=7): ("failed", ENDED)}}, "now it is None"),
    "an end that is invented": ({"rows": [_row(DONE, "succeeded", counts={}), LIVE_ROW]}, "succeeded with {}"),
    "two ends": ({"events": [*GOOD.events, *_events(DONE, "succeeded")]}, "ended more than once"),
    "a move that is none": (
        {"events": [*_events(DONE, "held", "succeeded"), *GOOD.events[5:]]},
        "from held to succeeded",
    ),
    "no history": ({"events": GOOD.events[5:]}, "its history ends with []"),
    "usage too high": ({"usage": {"gpu": 4, "count/jobs": 1}}, "usage says"),
    "usage too low": ({"usage": {"gpu": 2}}, "usage says"),
    "charged after its end": ({"rows": [_row(DONE, "succeeded", charged=True), LIVE_ROW]}, "still charged"),
    "an orphan": ({"shown": {str(UUID(int=5)): "uid-5"}}, "has no row"),
    "a Job that is called gone": ({"shown": {str(DONE): "uid-1"}}, "calls it gone"),
}


def test_good_evidence_has_nothing_wrong() -> None:
    assert violations(GOOD) == []


def test_a_claim_that_was_given_back_without_a_word_is_no_harm() -> None:
    cancelled = [_row(DONE, "cancelled", k8s_uid=None), LIVE_ROW]
    events = [*_events(DONE, "held", "submitting", "cancelled"), *GOOD.events[5:]]
    seen = replace(GOOD, rows=cancelled, events=events, creations=GOOD.creations[1:], ends={})
    assert violations(seen) == []


@pytest.mark.parametrize("harm", HARM)
def test_harm_is_found(harm: str) -> None:
    changes, words = HARM[harm]
    assert any(words in sentence for sentence in violations(replace(GOOD, **changes))), harm
