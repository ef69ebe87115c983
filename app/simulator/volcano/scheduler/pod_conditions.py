"""Conditions in the status of pods, as the scheduler writes them (Kubernetes, `podutil.UpdatePodCondition`)."""

from collections.abc import Iterable
from typing import NamedTuple

from app.simulator.objects import Object
from app.simulator.volcano.scheduler.texts import EVICT, evicted

PREEMPTION = "PreemptionByScheduler"


class Condition(NamedTuple):
    """A condition without its times."""

    type: str
    status: str
    reason: str
    message: str


def condition_of(pod: Object, kind: str) -> Object | None:
    """A pod's condition of a type."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((item for item in conditions if item.get("type") == kind), None)


def with_conditions(pod: Object, new: Iterable[Condition], stamp: str) -> list[Object]:
    """A pod's conditions with new ones in them. The transition time stays while only reason or message change."""
    written = {item.type: _written(pod, item, stamp) for item in new}
    others = [item for item in (pod.get("status") or {}).get("conditions") or () if item["type"] not in written]
    return [*others, *written.values()]


def eviction_conditions(pod: Object, reason: str, stamp: str) -> list[Object]:
    """The conditions of a pod that is about to be evicted; the text is the same for reclaim and preempt."""
    scheduler = (pod.get("spec") or {}).get("schedulerName")
    text = f"{scheduler}: preempting to accommodate a higher priority pod"
    new = [Condition("Ready", "False", EVICT, evicted(reason)), Condition("DisruptionTarget", "True", PREEMPTION, text)]
    return with_conditions(pod, new, stamp)


def _written(pod: Object, new: Condition, stamp: str) -> Object:
    old = condition_of(pod, new.type)
    since = old["lastTransitionTime"] if old is not None and old.get("status") == new.status else stamp
    return {
        "type": new.type,
        "status": new.status,
        "lastProbeTime": None,
        "lastTransitionTime": since,
        "reason": new.reason,
        "message": new.message,
    }
