"""What a kube-apiserver checks of pods, as far as whole extended resources need it (pkg/apis/core/validation)."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from app.simulator.amounts import parse
from app.simulator.objects import Object
from app.simulator.pod_gates import gate_causes, node_causes
from app.simulator.refusals import Cause

_RESTART_POLICIES = ("Always", "OnFailure", "Never")


def pod_causes(pod: Object) -> Iterator[Cause]:
    """Every wrong field of a pod."""
    spec = pod["spec"]
    if not spec.get("containers"):
        yield Cause("spec.containers", "Required value", "FieldValueRequired")
    if spec.get("restartPolicy") not in _RESTART_POLICIES:
        supported = ", ".join(f'"{policy}"' for policy in _RESTART_POLICIES)
        text = f'Unsupported value: "{spec.get("restartPolicy")}": supported values: {supported}'
        yield Cause("spec.restartPolicy", text, "FieldValueNotSupported")
    for field in ("containers", "initContainers"):
        names: set[str] = set()
        for index, container in enumerate(spec.get(field) or ()):
            yield from _container_causes(container, f"spec.{field}[{index}]", names)
    yield from gate_causes(pod)
    yield from node_causes(pod)


def _container_causes(container: Object, path: str, names: set[str]) -> Iterator[Cause]:
    name = container.get("name")
    if not name:
        yield Cause(f"{path}.name", "Required value", "FieldValueRequired")
    elif name in names:
        yield Cause(f"{path}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate")
    names.add(name or "")
    if not container.get("image"):
        yield Cause(f"{path}.image", "Required value", "FieldValueRequired")
    yield from resource_causes(container.get("resources") or {}, f"{path}.resources")


def resource_causes(resources: Object, path: str) -> Iterator[Cause]:
    """Wrong quantities: not a number, negative, a fraction of an extended resource, a request unequal to its limit."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for field, quantities in (("limits", limits), ("requests", requests)):
        for name, quantity in quantities.items():
            yield from _quantity_causes(name, quantity, f"{path}.{field}[{name}]")
    for name, quantity in requests.items():
        yield from _pair_causes(name, number(quantity), limits, quantity, path)


def number(quantity: object) -> Decimal | None:
    """The value of a quantity, or None when it is not one."""
    try:
        return parse(quantity).value
    except ValueError:
        return None


def is_extended(name: str) -> bool:
    """Whether a resource is an extended one, such as a GPU: it has a domain, and that is not Kubernetes' own."""
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io")


def _quantity_causes(name: str, quantity: Any, path: str) -> Iterator[Cause]:
    value = number(quantity)
    if value is None:
        yield Cause(path, f'Invalid value: "{quantity}": must be a quantity')
    elif value < 0:
        yield Cause(path, f'Invalid value: "{quantity}": must be greater than or equal to 0')
    elif is_extended(name) and value != value.to_integral_value():
        yield Cause(path, f'Invalid value: "{quantity}": must be an integer')


def _pair_causes(name: str, request: Decimal | None, limits: Object, quantity: Any, path: str) -> Iterator[Cause]:
    if name not in limits:
        if is_extended(name):
            text = "Required value: Limit must be set for non overcommitable resources"
            yield Cause(f"{path}.limits", text, "FieldValueRequired")
        return
    limit = number(limits[name])
    if request is None or limit is None:
        return
    if is_extended(name) and request != limit:
        yield Cause(f"{path}.requests", f'Invalid value: "{quantity}": must be equal to {name} limit of {limits[name]}')
    elif request > limit:
        text = f'Invalid value: "{quantity}": must be less than or equal to {name} limit of {limits[name]}'
        yield Cause(f"{path}.requests", text)
