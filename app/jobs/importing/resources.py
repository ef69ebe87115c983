"""A container's requests and limits as what one replica asks for. Pure.

Here GPUs and memory are both request and limit, and CPU is a request alone (`app/cluster/pod_template.py`). Kubernetes
fills in requests from limits, and wants both equal for an extended resource; a document that asks for something that
cannot be kept is refused.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from app import quantity
from app.jobs.faults import Place
from app.jobs.importing.draft import Draft, Section
from app.jobs.importing.known import RESOURCES

_NOT_CHARGED = ("ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi")


def translate_resources(draft: Draft, resources: Section, container: Mapping[str, Any], place: Place) -> None:
    """Read the resources of a container whose own place is `place`."""
    here = (*place, "resources")
    given = draft.mapping(container.get("resources"), here)
    draft.check(given, here, RESOURCES)
    requests, limits = (draft.mapping(given.get(kind), (*here, kind)) for kind in ("requests", "limits"))
    for name in ("cpu", "memory"):
        amount, source = _amount(draft, name, requests, limits, here)
        resources.set(name, source, amount)
    _gpus(draft, resources, requests, limits, here)


def _gpus(
    draft: Draft, resources: Section, requests: Mapping[str, Any], limits: Mapping[str, Any], here: Place
) -> None:
    resources.draft.came_from((*resources.target, "gpus"), here)
    resources.draft.came_from((*resources.target, "gpu_resource"), here)
    for name in dict.fromkeys((*limits, *requests)):
        if name in {"cpu", "memory"}:
            continue
        amount, source = _amount(draft, name, requests, limits, here)
        if name in _NOT_CHARGED:
            draft.fault(source, "Only cpu, memory and one kind of GPU can be asked for; leave it out", "resource-name")
            continue
        if amount is None or _parsed(amount) == Decimal(0):
            continue
        if "gpus" in resources.values:
            words = "A container can ask for one extended resource; make a task for each kind of GPU"
            draft.fault(source, words, "resource-name")
            continue
        resources.set("gpus", source, amount)
        resources.set("gpu_resource", source, name)


def _amount(
    draft: Draft, name: str, requests: Mapping[str, Any], limits: Mapping[str, Any], here: Place
) -> tuple[Any, Place]:
    """The amount of a resource as it was written, and where; faults where request and limit cannot both be kept."""
    request, limit = requests.get(name), limits.get(name)
    asked, most = _parsed(request), _parsed(limit)
    if request is None or (limit is not None and most is None):
        return limit, (*here, "limits", name)
    if asked is not None and most is not None and asked != most:
        draft.fault((*here, "requests", name), _unequal(name, above=asked > most), "requests-and-limits")
    return request, (*here, "requests", name)


def _unequal(name: str, *, above: bool) -> str:
    if above:
        return "The request is above the limit"
    if name == "cpu":
        return "CPU is a request without a limit here; write the same amount in both, or leave the limit out"
    if name == "memory":
        return "Memory is request and limit in one here; write the same amount in both, or leave one out"
    return "Requests and limits of an extended resource have to be equal; leave the request out"


def _parsed(amount: Any) -> Decimal | None:
    try:
        return quantity.parse(repr(amount) if isinstance(amount, float) else amount)
    except quantity.QuantityError:
        return None
