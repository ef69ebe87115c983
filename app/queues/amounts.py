"""Amounts of resources in a queue, and the rules between them (volcano-facts 1.4 and 3.2). Pure."""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from app import quantity
from app.errors import Invalid
from app.names import fault_in_extended_resource
from app.validation import invalid

_PLAIN = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
_HUGE_PAGES = "hugepages-"

Amounts = Mapping[str, Decimal]


def read(field: str, given: Mapping[str, str | int], faults: list[Invalid]) -> dict[str, Decimal]:
    """The amounts of one field; what is wrong with it is added to `faults`."""
    amounts: dict[str, Decimal] = {}
    for resource, amount in given.items():
        where = (field, resource)
        fault = _fault_in_resource(resource)
        if fault is not None:
            faults.append(invalid(where, fault, "resource-name"))
            continue
        try:
            amounts[resource] = _amount(resource, amount)
        except quantity.QuantityError:  # its text may quote what was sent
            kind = "a whole number of zero or more" if _is_counted(resource) else "a quantity such as 4, 500m or 16Gi"
            faults.append(invalid(where, f"The amount must be {kind}", "quantity"))
    return amounts


def written(amounts: Amounts) -> dict[str, str]:
    """Amounts in the one form in which they are stored and shown."""
    return {resource: quantity.canonical(amount) for resource, amount in sorted(amounts.items())}


def faults_between(capability: Amounts, deserved: Amounts, guarantee: Amounts) -> Iterator[Invalid]:
    """What Volcano's webhook would refuse: guarantee <= deserved <= capability, resource by resource.

    A guaranteed resource must be deserved too; a capability that is not set is no limit (Volcano v1.14 and later).
    """
    for resource, amount in guarantee.items():
        where = ("guarantee", resource)
        if resource not in deserved:
            yield invalid(where, "A guaranteed resource needs an entry in deserved too", "above-deserved")
        elif amount > deserved[resource]:
            yield _above(where, "guarantee", amount, "deserved", deserved[resource])
    for resource, amount in deserved.items():
        if resource in capability and amount > capability[resource]:
            yield _above(("deserved", resource), "deserved", amount, "capability", capability[resource])


def _above(where: tuple[str, str], lower: str, amount: Decimal, upper: str, bound: Decimal) -> Invalid:
    numbers = f"{quantity.canonical(amount)} is more than the {upper} of {quantity.canonical(bound)}"
    return invalid(where, f"The {lower} of {numbers}", f"above-{upper}")


def _amount(resource: str, amount: str | int) -> Decimal:
    return Decimal(quantity.whole(amount)) if _is_counted(resource) else quantity.parse(amount)


def _is_counted(resource: str) -> bool:
    return "/" in resource or resource == "pods"


def _fault_in_resource(resource: str) -> str | None:
    if resource in _PLAIN:
        return None
    if resource.startswith(_HUGE_PAGES):
        try:
            quantity.parse(resource.removeprefix(_HUGE_PAGES))
        except quantity.QuantityError:
            return "Huge pages are named by their size, such as hugepages-2Mi"
        return None
    return fault_in_extended_resource(resource)
