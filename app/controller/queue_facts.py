"""Queues: the manifest and the patch for Volcano, and what was seen of each. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from app import quantity
from app.cluster.observed import ObservedJob, ObservedPod, ObservedPodGroup, ObservedQueue
from app.quantity import QuantityError
from app.queues.models import QueueRow

API_VERSION = "scheduling.volcano.sh/v1beta1"
ROOT = "root"
"""Volcano puts queues without a parent under this one (volcano-facts 4.3, v1.15.1)."""

_PHASES = {"": "pending", "Pending": "pending", "Inqueue": "inqueue", "Running": "running", "Unknown": "unknown"}

Object = dict[str, Any]


def manifest(row: QueueRow) -> Object:
    """The Volcano Queue as the operator wants it; what is not set is left to Volcano."""
    spec: Object = {"weight": row.weight, "reclaimable": row.reclaimable}
    for name, amounts in (("capability", row.capability), ("deserved", row.deserved)):
        if amounts:
            spec[name] = dict(amounts)
    if row.guarantee:
        spec["guarantee"] = {"resource": dict(row.guarantee)}
    if row.parent is not None:
        spec["parent"] = row.parent
    return {
        "apiVersion": API_VERSION,
        "kind": "Queue",
        "metadata": {"name": row.name, "labels": {"app.kubernetes.io/managed-by": "pumice"}},
        "spec": spec,
    }


def patch(row: QueueRow, seen: ObservedQueue) -> Object | None:
    """The merge patch (RFC 7386) that makes a Queue what its row wants; None when nothing differs.

    Only our fields are in it: a patch of anything else is refused while a queue is Closing (volcano-sh/volcano#3517).
    """
    spec: Object = {}
    if seen.weight != row.weight:
        spec["weight"] = row.weight
    if seen.reclaimable != row.reclaimable:
        spec["reclaimable"] = row.reclaimable
    if (seen.parent or ROOT) != (row.parent or ROOT):
        spec["parent"] = row.parent or ROOT
    for name, wanted, found in (
        ("capability", row.capability, seen.capability),
        ("deserved", row.deserved, seen.deserved),
    ):
        if changes := _changes(wanted, found):
            spec[name] = changes
    if changes := _changes(row.guarantee, seen.guarantee):
        spec["guarantee"] = {"resource": changes}
    return {"spec": spec} if spec else None


def _changes(wanted: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str | None]:
    changes: dict[str, str | None] = {
        name: amount for name, amount in wanted.items() if name not in found or not _equal(amount, found[name])
    }
    return changes | dict.fromkeys(name for name in found if name not in wanted)


def _equal(one: str, other: str) -> bool:
    try:
        return quantity.parse(one) == quantity.parse(other)
    except QuantityError:
        return one == other


def pod_groups_by_queue(groups: Iterable[ObservedPodGroup]) -> dict[str, Counter[str]]:
    """Count PodGroups by queue and phase, since Volcano keeps no such counts since v1.11 (volcano-facts 4.2)."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for group in groups:
        if group.phase in _PHASES:
            found[group.queue][_PHASES[group.phase]] += 1
    return found


def held_by_queue(pods: Iterable[ObservedPod], queue_of: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Sum what our pods hold of extended resources, by queue, as Volcano books it: from binding until they end.

    Args:
        pods: of our jobs.
        queue_of: the queue of each Job by its uid.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        queue = queue_of.get(pod.job_uid or "")
        if queue is not None and pod.node and not pod.deleting and pod.phase not in {"Succeeded", "Failed"}:
            found[queue].update(pod.resources)
    return found


def queues_of(jobs: Iterable[ObservedJob]) -> dict[str, str]:
    """The queue of each Job by its uid."""
    return {job.uid: job.queue for job in jobs}


def observed(seen: ObservedQueue, groups: Counter[str], held: Counter[str]) -> Object:
    """What the row is to say that was seen of a queue."""
    counted = {name: groups.get(name, 0) for name in ("pending", "inqueue", "running", "unknown")}
    return {
        "state": seen.state,
        "allocated": dict(sorted(seen.allocated.items())),
        "pod_groups": counted,
        "drift": _drift(seen.allocated, held),
    }


def _drift(allocated: Mapping[str, str], held: Counter[str]) -> dict[str, int]:
    """Volcano's `allocated` less our own sum, for extended resources; pods that are not ours count as drift too."""
    drift: dict[str, int] = {}
    for name in sorted({*allocated, *held}):
        if "/" not in name:
            continue
        try:
            drift[name] = int(quantity.parse(allocated.get(name, "0"))) - held.get(name, 0)
        except QuantityError:
            continue
    return drift
