"""What a Volcano Job lacks of its owner's changes."""

from dataclasses import replace
from typing import Any

import pytest

from app.cluster.observe import observe_job
from app.controller.alignment import Wish, patch_needed

OWN = {"pumice.dev/job-id": "0190", "pumice.dev/team": "nlp"}


def shown(labels: dict[str, str], priority_class: str = "") -> Any:
    job = observe_job({"metadata": {"name": "a", "uid": "u"}, "spec": {}})
    assert job is not None
    return replace(job, labels={**OWN, **labels}, priority_class=priority_class)


@pytest.mark.parametrize(
    ("wish", "job", "patch"),
    [
        (Wish(None, {}), shown({}), None),
        (Wish("high", {"a": "1"}), shown({"a": "1", "kyverno.io/others": "x"}, "high"), None),
        (Wish("high", {}), shown({}), {"spec": {"priorityClassName": "high"}}),
        (Wish(None, {}), shown({}, "low"), {"spec": {"priorityClassName": None}}),
        (
            Wish(None, {"a": "2", "b": "1"}),
            shown({"a": "1", "c": "1"}),
            {"metadata": {"labels": {"a": "2", "b": "1"}}},
        ),
        (Wish(None, {}, ("gone", "absent")), shown({"gone": "1"}), {"metadata": {"labels": {"gone": None}}}),
        (Wish(None, {"back": "2"}, ("back",)), shown({"back": "2"}), None),
        (
            Wish("high", {"a": "1"}, ("b",)),
            shown({"b": "1"}, "low"),
            {"metadata": {"labels": {"a": "1", "b": None}}, "spec": {"priorityClassName": "high"}},
        ),
    ],
)
def test_the_patch_names_what_differs_and_nothing_else(wish: Wish, job: Any, patch: dict[str, Any] | None) -> None:
    assert patch_needed(wish, job) == patch


def test_the_observed_job_has_what_is_compared() -> None:
    job = observe_job(
        {
            "metadata": {"name": "a", "uid": "u", "labels": {"a": "1", "odd": 7}},
            "spec": {"priorityClassName": "high"},
        }
    )
    assert job is not None
    assert (job.labels, job.priority_class) == ({"a": "1"}, "high")
