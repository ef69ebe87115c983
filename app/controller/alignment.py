"""What a Volcano Job lacks of what its owner changed since it was made. Pure.

Only metadata and the priority class of a Job may change (volcano-facts 2.12, v1.15.1). The labels of pods stand in
templates that may not: they keep what they were made with. Labels that others put on the Job are left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.cluster.observed import ObservedJob


@dataclass(frozen=True, slots=True)
class Wish:
    """What a job's owner wants its Volcano Job to show.

    Attributes:
        priority_class: None leaves it to the cluster.
        labels: the owner's own.
        retired: keys of labels that the owner took off.
    """

    priority_class: str | None
    labels: Mapping[str, str] = field(hash=False)
    retired: Sequence[str] = ()


def wish_of(row: Any, priorities: Mapping[str, str | None]) -> Wish:
    """Read a row of `jobs`; `priorities` is the operator's setting."""
    return Wish(priorities.get(row.priority), row.labels, row.retired_labels)


def patch_needed(wish: Wish, shown: ObservedJob) -> dict[str, Any] | None:
    """The JSON merge patch that brings a Volcano Job in line with a wish; None when it is."""
    patch: dict[str, Any] = {}
    labels: dict[str, str | None] = {key: value for key, value in wish.labels.items() if shown.labels.get(key) != value}
    labels |= dict.fromkeys(key for key in wish.retired if key in shown.labels and key not in wish.labels)
    if labels:
        patch["metadata"] = {"labels": labels}
    if (wish.priority_class or "") != shown.priority_class:
        patch["spec"] = {"priorityClassName": wish.priority_class}
    return patch or None
