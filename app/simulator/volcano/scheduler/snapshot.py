"""The state of the cluster that one session sees."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from app.simulator.objects import Object
from app.simulator.volcano.scheduler.facts import (
    GroupFacts,
    NodeFacts,
    PriorityFacts,
    QueueFacts,
    read_node,
    read_pod_group,
    read_priority_class,
    read_queue,
)
from app.simulator.volcano.scheduler.pod_facts import PodFacts, read_pod


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Facts of one moment.

    `bindings` holds the node, by the pod's uid, of pods whose binding was written but not seen yet: they count as
    Binding. `evictions` holds the uids of pods whose eviction was written but not seen yet: they count as Releasing.
    """

    nodes: tuple[NodeFacts, ...]
    pods: tuple[PodFacts, ...]
    groups: tuple[GroupFacts, ...]
    queues: tuple[QueueFacts, ...]
    priorities: tuple[PriorityFacts, ...] = ()
    bindings: Mapping[str, str] | None = None
    evictions: Collection[str] = ()


def build_snapshot(
    nodes: Iterable[Object],
    pods: Iterable[Object],
    pod_groups: Iterable[Object],
    queues: Iterable[Object],
    *,
    priority_classes: Iterable[Object] = (),
    bindings: Mapping[str, str] | None = None,
    evictions: Collection[str] = (),
) -> Snapshot:
    """A snapshot of raw objects."""
    return Snapshot(
        nodes=tuple(map(read_node, nodes)),
        pods=tuple(map(read_pod, pods)),
        groups=tuple(map(read_pod_group, pod_groups)),
        queues=tuple(map(read_queue, queues)),
        priorities=tuple(map(read_priority_class, priority_classes)),
        bindings=bindings,
        evictions=evictions,
    )
