"""What a change of a pod may touch (`ValidatePodUpdate` of Kubernetes v1.36.1). Pure."""

from collections.abc import Iterator
from typing import Any

from app.simulator.objects import Object
from app.simulator.pod_gates import added_gate_causes, gate_causes, gates_of
from app.simulator.refusals import Cause

_FREE = frozenset({"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"})
_TEXT = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


def pod_update_causes(old: Object, new: Object) -> Iterator[Cause]:
    """Every change that is not allowed. A pod behind gates may be sent to fewer nodes by its nodeSelector as well."""
    if not isinstance(new.get("spec"), dict):
        yield Cause("spec", _TEXT, "FieldValueForbidden")
        return
    yield from gate_causes(new)
    yield from added_gate_causes(old, new)
    free = _FREE
    if gates_of(old):
        free = _FREE | {"nodeSelector"}
        yield from _selector_causes(old["spec"].get("nodeSelector") or {}, new["spec"].get("nodeSelector") or {})
    if _frozen(old["spec"], free) != _frozen(new["spec"], free):
        yield Cause("spec", _TEXT, "FieldValueForbidden")


def _selector_causes(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Cause]:
    if any(new.get(key) != value for key, value in old.items()):
        rule = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield Cause("spec.nodeSelector", f"Invalid value: {_printed(new)}: {rule}")


def _printed(selector: dict[str, Any]) -> str:
    inside = ",".join(f'"{key}":"{value}"' for key, value in sorted(selector.items()))
    return "{" + inside + "}"


def _frozen(spec: Object, free: frozenset[str]) -> Object:
    frozen = {key: value for key, value in spec.items() if key not in free}
    for field in ("containers", "initContainers"):
        frozen[field] = [{k: v for k, v in item.items() if k != "image"} for item in spec.get(field) or ()]
    return frozen
