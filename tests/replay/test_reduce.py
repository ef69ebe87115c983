from datetime import UTC, datetime
from typing import Any

import pytest

from tests.replay.deltas import applied, difference
from tests.replay.recording import SCENARIOS, load
from tests.replay.reduce import began_at, reduced


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"c": 1, "d": 3}, "e": [None]}),
        ({"a": {}}, {"a": {"b": {}}}),
        ({"a": {"b": 1}}, {"a": 5}),
        ({"a": 5}, {"a": {"b": 1}}),
    ],
)
def test_a_difference_leads_from_one_version_to_the_next(before: dict[str, Any], after: dict[str, Any]) -> None:
    patch = difference(before, after)
    assert patch is not None
    assert applied(before, patch) == after


def test_a_null_that_a_patch_would_take_for_an_absence_has_no_difference() -> None:
    assert difference({"a": 1}, {"a": None}) is None
    assert difference({"a": 1}, {"a": {"b": None}}) == {"a": {"b": None}}  # a new object stands as it is


def _event(ms: int, kind: str, stamp: str, **spec: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": "a", "uid": kind, "creationTimestamp": stamp, "managedFields": [1]}, "spec": spec}
    return {"t_ms": ms, "watch": kind, "type": "ADDED", "object": obj}


def test_no_stamp_lies_behind_its_event() -> None:
    records = [_event(300, "Job", "2026-11-30T10:00:00Z"), _event(1200, "Pod", "2026-11-30T10:00:01Z")]
    assert began_at(records) == datetime(2026, 11, 30, 9, 59, 59, 800_000, UTC)


def test_a_reduced_recording_keeps_its_kinds_and_refusals() -> None:
    refused = {"t_ms": 5, "request": {"method": "POST", "path": "/x/jobs?dryRun=All", "body": {"a": 1}}}
    answer = {"status": 400, "response": {"message": "no"}}
    records = [
        _event(1, "Job", "2026-11-30T10:00:00Z", queue="default"),
        _event(2, "Event", "2026-11-30T10:00:00Z"),
        {"t_ms": 3, "note": "why"},
        {**refused, **answer},
        {**_event(9, "Job", "2026-11-30T10:00:00Z", queue="default", tasks=[]), "type": "MODIFIED"},
    ]
    _, job, refusal, changed = reduced(records)
    assert job["object"]["spec"] == {"queue": "batch"}
    assert "managedFields" not in job["object"]["metadata"]
    assert refusal["refusal"] | {"body": {}} == {
        "ms": 5,
        "note": "why",
        "plural": "jobs",
        "body": {},
        "status": 400,
        "answer": {"message": "no"},
    }
    assert (changed["of"], changed["patch"]) == ("Job", {"spec": {"tasks": []}})


def test_every_event_comes_after_the_one_before() -> None:
    for name in SCENARIOS:
        moments = [change.ms for change in load(name).changes]
        assert moments == sorted(moments), name
