from collections import Counter
from datetime import UTC, datetime
from typing import Any

from app.cluster.observed import ObservedQueue
from app.controller import queue_facts
from app.queues.models import QueueRow

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def _row(**facts: Any) -> QueueRow:
    return QueueRow(**{"name": "q", "created_at": NOW, "updated_at": NOW, **facts})


def _seen(**facts: Any) -> ObservedQueue:
    given: dict[str, Any] = {
        "uid": "u",
        "name": "q",
        "state": "Open",
        "weight": 1,
        "priority": 0,
        "capability": {},
        "deserved": {},
        "guarantee": {},
        "reclaimable": True,
        "parent": "root",
        "allocated": {},
        "resource_version": "1",
    }
    return ObservedQueue(**{**given, **facts})


def test_nothing_is_patched_when_the_amounts_are_the_same_in_other_words() -> None:
    row = _row(capability={"cpu": "1", "nvidia.com/gpu": "4"})
    assert queue_facts.patch(row, _seen(capability={"cpu": "1000m", "nvidia.com/gpu": "4"})) is None


def test_only_what_differs_is_patched_and_what_is_not_wanted_any_more_is_removed() -> None:
    row = _row(weight=3, capability={"nvidia.com/gpu": "4"}, guarantee={"cpu": "1"}, parent="p")
    patch = queue_facts.patch(row, _seen(capability={"nvidia.com/gpu": "4", "cpu": "8"}))
    assert patch == {
        "spec": {
            "weight": 3,
            "parent": "p",
            "capability": {"cpu": None},
            "guarantee": {"resource": {"cpu": "1"}},
        }
    }


def test_a_manifest_leaves_out_what_is_not_set() -> None:
    assert queue_facts.manifest(_row())["spec"] == {"weight": 1, "reclaimable": True}


def test_drift_is_volcanos_sum_less_ours_for_extended_resources() -> None:
    seen = _seen(allocated={"cpu": "4", "nvidia.com/gpu": "6"})
    facts = queue_facts.observed(seen, Counter(running=2), Counter({"nvidia.com/gpu": 4, "amd.com/gpu": 1}))
    assert facts["drift"] == {"nvidia.com/gpu": 2, "amd.com/gpu": -1}
    assert facts["pod_groups"] == {"pending": 0, "inqueue": 0, "running": 2, "unknown": 0}
