"""Scheduling gates: what holds a pod back from every scheduler until the last of them is taken off.

Read at Kubernetes v1.36.1: pkg/apis/core/validation and pkg/registry/core/pod. Pure.
"""

from collections.abc import Iterator

from app.simulator.metadata_checks import qualified_name_faults
from app.simulator.objects import Object
from app.simulator.refusals import Cause

_PATH = "spec.schedulingGates"
_REASON = "SchedulingGated"
_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"


def gates_of(pod: Object) -> list[str]:
    """The names of a pod's gates, in their order."""
    return [str(gate.get("name") or "") for gate in pod["spec"].get("schedulingGates") or ()]


def gate_causes(pod: Object) -> Iterator[Cause]:
    """Every gate whose name is none, or is there twice."""
    seen: set[str] = set()
    for index, name in enumerate(gates_of(pod)):
        for fault in qualified_name_faults(name):
            yield Cause(f"{_PATH}[{index}]", f'Invalid value: "{name}": {fault}')
        if name in seen:
            yield Cause(f"{_PATH}[{index}]", f'Duplicate value: "{name}"', "FieldValueDuplicate")
        seen.add(name)


def node_causes(pod: Object) -> Iterator[Cause]:
    """The node of a new pod that has gates."""
    if pod["spec"].get("nodeName") and gates_of(pod):
        text = "Forbidden: cannot be set until all schedulingGates have been cleared"
        yield Cause("spec.nodeName", text, "FieldValueForbidden")


def added_gate_causes(old: Object, new: Object) -> Iterator[Cause]:
    """Every gate that a change puts on a pod: they can only be taken off."""
    places = {name: index for index, name in enumerate(gates_of(new))}
    for name in places.keys() - set(gates_of(old)):
        text = f"Forbidden: only deletion is allowed, but found new scheduling gate '{name}'"
        yield Cause(f"{_PATH}[{places[name]}].name", text, "FieldValueForbidden")


def explain_gates(pod: Object, stamp: str) -> None:
    """Say in a new pod's status that it is gated. This stays when the last gate goes, until a scheduler writes anew."""
    if gates_of(pod):
        condition = {"type": "PodScheduled", "status": "False", "lastProbeTime": None, "lastTransitionTime": stamp}
        pod["status"]["conditions"] = [{**condition, "reason": _REASON, "message": _MESSAGE}]


def gated_status(pod: Object) -> str | None:
    """What `kubectl get` shows of a pod that is told to be gated (pkg/printers/internalversion); None of any other.

    It goes by the condition, so it shows after the last gate is gone, until a scheduler has looked at the pod.
    """
    conditions = pod["status"].get("conditions") or ()
    told = any(c.get("type") == "PodScheduled" and c.get("reason") == _REASON for c in conditions)
    return _REASON if told else None
