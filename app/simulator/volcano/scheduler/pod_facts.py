"""What the scheduler reads of pods."""

import json
from dataclasses import dataclass, field

from app.simulator.objects import Object
from app.simulator.volcano.names import GROUP_NAME, TASK_INDEX, TASK_SPEC
from app.simulator.volcano.scheduler.facts import SCHEDULER_NAME
from app.simulator.volcano.scheduler.resources import PODS, Resources, add, is_empty, read
from app.simulator.volcano.scheduler.statuses import TaskStatus, status_of

_GROUP_KEYS = (GROUP_NAME, "scheduling.volcano.sh/group-name")
_TASK_PRIORITY = "volcano.sh/task-priority"
_PREEMPTABLE = "volcano.sh/preemptable"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
"""What Go's `strconv.ParseBool` takes for true."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A pod. `request` counts all its containers, overhead, and one pod."""

    namespace: str
    name: str
    uid: str
    created: str
    node: str
    status: TaskStatus
    group: tuple[str, str] | None
    role: str
    index: int | None
    priority: int
    priority_class: str
    preemptable: bool
    may_preempt: bool
    nominated: str
    request: Resources
    best_effort: bool
    gated: bool
    constraints: str
    """Which nodes it may use, as text: pods with the same text are treated alike."""
    request_text: str
    """`request` as text, likewise."""
    raw: Object = field(compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name


def read_pod(pod: Object) -> PodFacts:
    """A Pod object as facts."""
    metadata, spec = pod["metadata"], pod["spec"]
    annotations = metadata.get("annotations") or {}
    request = request_of(spec)
    own_priority = _number(annotations.get(_TASK_PRIORITY))
    return PodFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=str(metadata.get("uid", "")),
        created=str(metadata.get("creationTimestamp", "")),
        node=str(spec.get("nodeName") or ""),
        status=status_of(pod),
        group=_group(pod),
        role=str(annotations.get(TASK_SPEC) or ""),
        index=_number(annotations.get(TASK_INDEX) or (metadata.get("labels") or {}).get(TASK_INDEX)),
        priority=int(spec.get("priority") or 0) if own_priority is None else own_priority,
        priority_class=str(spec.get("priorityClassName") or ""),
        preemptable=_preemptable(metadata),
        may_preempt=spec.get("preemptionPolicy") != "Never",
        nominated=str((pod.get("status") or {}).get("nominatedNodeName") or ""),
        request=request,
        best_effort=is_empty(request),
        gated=bool(spec.get("schedulingGates")),
        constraints=_constraints(spec),
        request_text=json.dumps(request, sort_keys=True),
        raw=pod,
    )


def request_of(spec: Object) -> Resources:
    """What a pod asks for (Kubernetes, "Pod resource requests"; volcano-facts 5.3), with one `pods`.

    The larger of its containers with the sidecars, and of each init container with the sidecars before it; plus
    overhead.
    """
    total: Resources = {}
    for container in spec.get("containers") or ():
        add(total, _requests(container))
    sidecars: Resources = {}
    largest: Resources = {}
    for container in spec.get("initContainers") or ():
        asked = _requests(container)
        if container.get("restartPolicy") == "Always":
            add(sidecars, asked)
            asked = {}
        add(asked, sidecars)
        largest = _larger(largest, asked)
    add(total, sidecars)
    total = _larger(total, largest)
    add(total, read(spec.get("overhead")))
    total[PODS] = 1.0
    return total


def _requests(container: Object) -> Resources:
    return read((container.get("resources") or {}).get("requests"))


def _larger(left: Resources, right: Resources) -> Resources:
    return {name: max(left.get(name, 0.0), right.get(name, 0.0)) for name in (*left, *right)}


def _group(pod: Object) -> tuple[str, str] | None:
    """The PodGroup; pods of another scheduler, and bare pods without a PodGroup, belong to none."""
    if pod["spec"].get("schedulerName") != SCHEDULER_NAME:
        return None
    annotations = pod["metadata"].get("annotations") or {}
    name = next((annotations[key] for key in _GROUP_KEYS if annotations.get(key)), None)
    return (pod["metadata"]["namespace"], str(name)) if name else None


def _preemptable(metadata: Object) -> bool:
    """Whether a pod may be evicted: the annotation, else the label, else yes; what is no boolean is a no."""
    for field_name in ("annotations", "labels"):
        value = (metadata.get(field_name) or {}).get(_PREEMPTABLE)
        if value is not None:
            return str(value) in _TRUE
    return True


def _number(text: object) -> int | None:
    try:
        return int(str(text))
    except ValueError:
        return None


def _constraints(spec: Object) -> str:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    parts = {
        "selector": spec.get("nodeSelector"),
        "terms": affinity.get("requiredDuringSchedulingIgnoredDuringExecution"),
        "tolerations": spec.get("tolerations"),
    }
    return json.dumps(parts, sort_keys=True)
