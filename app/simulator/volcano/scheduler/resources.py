"""Amounts of resources in Volcano's units (v1.15.1, `pkg/scheduler/api/resource_info.go`).

cpu in milli, memory in bytes, pods in whole units, every other scalar in milli: one GPU is 1000.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from app import quantity
from app.simulator.amounts import Amount

Resources = dict[str, float]
"""Amount by resource name. A missing name is zero."""

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
TOLERANCE = 0.1
_WHOLE = frozenset({MEMORY, PODS})
_SCALAR_PREFIXES = ("hugepages-", "attachable-volumes-")
_QUOTA_PREFIXES = ("count/", "requests.", "limits.")


@lru_cache(maxsize=4096)
def _amount(name: str, text: str) -> float:
    try:
        value = quantity.parse(text)
    except quantity.QuantityError:
        return 0.0
    return float(value if name in _WHOLE else value * 1000)


@lru_cache(maxsize=1024)
def _counted(name: str) -> bool:
    """Whether the scheduler knows the resource: quota names such as `requests.cpu` are ignored."""
    if name in (CPU, MEMORY, PODS, "ephemeral-storage"):
        return True
    if name.startswith(_QUOTA_PREFIXES):
        return False
    return "/" in name or name.startswith(_SCALAR_PREFIXES)


def read(quantities: Mapping[str, Any] | None) -> Resources:
    """A ResourceList as amounts; what is no quantity counts as zero, as admission lets none of it pass."""
    return {name: _amount(name, str(text)) for name, text in (quantities or {}).items() if _counted(name)}


def write(resources: Resources) -> dict[str, str]:
    """Amounts as a ResourceList; cpu and memory are always named (`ConvertRes2ResList`)."""
    named = {CPU: 0.0, MEMORY: 0.0, **resources}
    return {name: _text(name, amount) for name, amount in sorted(named.items())}


@lru_cache(maxsize=4096)
def _text(name: str, amount: float) -> str:
    value = Decimal(int(amount))
    binary = name == MEMORY or name.startswith("hugepages-")
    return str(Amount(value if name in _WHOLE else value / 1000, binary=binary))


def add(total: Resources, part: Resources, times: float = 1.0) -> None:
    """Add `part` to `total` in place, `times` as much; -1.0 subtracts."""
    for name, amount in part.items():
        total[name] = total.get(name, 0.0) + amount * times


def scaled(resources: Resources, factor: float) -> Resources:
    """All amounts times a factor."""
    return {name: amount * factor for name, amount in resources.items()}


def excess(left: Resources, right: Resources) -> Resources:
    """What `left` has beyond `right`, never negative (`ExceededPart`)."""
    return {name: max(0.0, amount - right.get(name, 0.0)) for name, amount in left.items()}


def same(left: Resources, right: Resources) -> bool:
    """Whether every amount is equal."""
    return all(left.get(name, 0.0) == right.get(name, 0.0) for name in left.keys() | right.keys())


def is_empty(resources: Resources) -> bool:
    """Whether nothing but pods is asked for; such a task is "best effort"."""
    return all(amount < TOLERANCE for name, amount in resources.items() if name != PODS)


def fits(request: Resources, available: Resources) -> bool:
    """Whether every amount of `request`, pods included, is available (`LessEqual`)."""
    return all(amount - available.get(name, 0.0) < TOLERANCE for name, amount in request.items())


def first_missing(request: Resources, available: Resources) -> str | None:
    """The first resource that is short: cpu, memory, then the others by name.

    Volcano names only the first one of a node; among scalars its order is that of a Go map, here it is fixed.
    """
    if fits(request, available):
        return None
    return min((name for name, amount in request.items() if amount - available.get(name, 0.0) >= TOLERANCE), key=_rank)


def short_of(amounts: Resources, limits: Resources, request: Resources) -> list[str]:
    """Names in `request` of which `amounts` exceed `limits`; pods do not count and nothing is tolerated.

    This is `LessEqualWithDimensionAndResourcesName`, the comparison behind every check of a queue's share.
    """
    names = [
        name
        for name, asked in request.items()
        if asked > 0.0 and name != PODS and amounts.get(name, 0.0) > limits.get(name, 0.0)
    ]
    return sorted(names, key=_rank) if len(names) > 1 else names


def dominant_share(part: Resources, whole: Resources) -> float:
    """The largest share among the resources of `whole`; x/0 is 1 and 0/0 is 0."""
    largest = 0.0
    for name, total in whole.items():
        amount = part.get(name, 0.0)
        largest = max(largest, amount / total if total else float(amount > 0.0))
    return largest


def _rank(name: str) -> tuple[int, str]:
    return {CPU: 0, MEMORY: 1}.get(name, 2), name
