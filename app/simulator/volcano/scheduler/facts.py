"""What the scheduler reads of nodes, queues and PodGroups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.simulator.objects import Object
from app.simulator.volcano.scheduler.resources import Resources, read

SCHEDULER_NAME = "volcano"
ROOT_QUEUE = "root"
DEFAULT_QUEUE = "default"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node. Its condition Ready is not read, as Volcano does not either."""

    name: str
    allocatable: Resources
    unschedulable: bool
    taints: tuple[Mapping[str, Any], ...]
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue. `capability` None means that the queue names none; `deserved` is read by the capacity plugin only."""

    name: str
    uid: str
    created: str
    weight: int
    priority: int
    capability: Resources | None
    guarantee: Resources
    deserved: Resources
    reclaimable: bool
    parent: str
    state: str
    raw: Object


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A PodGroup. `min_resources` None means that it names none, which passes every check of enqueue."""

    namespace: str
    name: str
    uid: str
    created: str
    queue: str
    min_member: int
    min_task_member: Mapping[str, int]
    min_resources: Resources | None
    priority_class: str
    raw: Object

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def status(self) -> Object:
        """The status as it was last read."""
        return self.raw.get("status") or {}


@dataclass(frozen=True, slots=True)
class PriorityFacts:
    """A PriorityClass."""

    name: str
    value: int
    is_default: bool = False


def read_node(node: Object) -> NodeFacts:
    """A Node object as facts."""
    spec = node.get("spec") or {}
    return NodeFacts(
        name=node["metadata"]["name"],
        allocatable=read((node.get("status") or {}).get("allocatable")),
        unschedulable=bool(spec.get("unschedulable")),
        taints=tuple(spec.get("taints") or ()),
        labels=node["metadata"].get("labels") or {},
    )


def read_queue(queue: Object) -> QueueFacts:
    """A Queue object as facts."""
    spec = queue.get("spec") or {}
    metadata = queue["metadata"]
    capability = spec.get("capability")
    return QueueFacts(
        name=metadata["name"],
        uid=str(metadata.get("uid", "")),
        created=str(metadata.get("creationTimestamp", "")),
        weight=int(spec.get("weight") or 1),
        priority=int(spec.get("priority") or 0),
        capability=read(capability) if capability else None,
        guarantee=read((spec.get("guarantee") or {}).get("resource")),
        deserved=read(spec.get("deserved")),
        reclaimable=spec.get("reclaimable") is not False,
        parent=str(spec.get("parent") or ROOT_QUEUE),
        state=str((queue.get("status") or {}).get("state") or ""),
        raw=queue,
    )


def read_pod_group(group: Object) -> GroupFacts:
    """A PodGroup object as facts."""
    spec = group.get("spec") or {}
    metadata = group["metadata"]
    minimum = spec.get("minResources")
    return GroupFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=str(metadata.get("uid", "")),
        created=str(metadata.get("creationTimestamp", "")),
        queue=str(spec.get("queue") or DEFAULT_QUEUE),
        min_member=int(spec.get("minMember") or 0),
        min_task_member=spec.get("minTaskMember") or {},
        min_resources=None if minimum is None else read(minimum),
        priority_class=str(spec.get("priorityClassName") or ""),
        raw=group,
    )


def read_priority_class(priority: Object) -> PriorityFacts:
    """A PriorityClass object as facts."""
    return PriorityFacts(
        priority["metadata"]["name"], int(priority.get("value") or 0), bool(priority.get("globalDefault"))
    )
