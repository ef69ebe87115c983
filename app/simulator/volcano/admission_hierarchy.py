"""Admission of Queues below other Queues (`validateHierarchicalQueue...` of Volcano v1.15.1)."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from app.simulator.amounts import Amount, parse
from app.simulator.objects import Object
from app.simulator.volcano.admission_refusal import Refusal

ROOT = "root"
MAXIMUM_DEPTH = 5
Queues = Mapping[str, Object]
Amounts = dict[str, Decimal]


def parent_of(queue: Object) -> str:
    """The parent's name, or an empty text."""
    return str((queue.get("spec") or {}).get("parent") or "")


def children_of(name: str, queues: Queues) -> list[Object]:
    """The Queues right below one."""
    return [queue for queue in queues.values() if parent_of(queue) == name]


def require_parent(queue: Object, queues: Queues) -> None:
    """Refuse a parent that is missing, too deep, the Queue itself, or has pods of its own.

    Raises:
        Refusal: with Volcano's words.
    """
    name, parent = queue["metadata"]["name"], parent_of(queue)
    if parent in ("", ROOT):
        return
    if parent == name:
        raise Refusal(f"queue {name} cannot use itself as parent")
    _require_depth(queue, queues)
    above = queues[parent]
    pods = parse(((above.get("status") or {}).get("allocated") or {}).get("pods", 0)).value
    if not children_of(parent, queues) and pods:
        raise Refusal(
            f"queue {parent} cannot be the parent queue of queue {name} because it has allocated Pods: {int(pods)}"
        )


def _require_depth(queue: Object, queues: Queues) -> None:
    name, parent, depth = queue["metadata"]["name"], parent_of(queue), 1
    while parent not in ("", ROOT):
        depth += 1
        if depth > MAXIMUM_DEPTH:
            raise Refusal(f"queue {name} exceeds the maximum allowed depth of {MAXIMUM_DEPTH}")
        if parent not in queues:
            raise Refusal(
                f'failed to get parent queue {parent} of queue {name}: queue.scheduling.volcano.sh "{parent}" not found'
            )
        parent = parent_of(queues[parent])


def require_fitting_hierarchy(queue: Object, queues: Queues) -> None:
    """Refuse amounts that do not fit between those above and below; children of `root` have nothing above.

    Raises:
        Refusal: with Volcano's words.
    """
    name, parent = queue["metadata"]["name"], parent_of(queue)
    if parent not in ("", ROOT) and parent in queues:
        _require_below_ancestors(queue, queues)
        siblings = [other for other in children_of(parent, queues) if other["metadata"]["name"] != name]
        _require_sums(f"parent queue {parent}", queues[parent], [*siblings, queue])
    children = children_of(name, queues)
    if children:
        _require_above_descendants(queue, children, queues)
        _require_sums(f"queue {name}", queue, children)


def _require_below_ancestors(queue: Object, queues: Queues) -> None:
    for resource, value in _amounts(queue, "capability").items():
        limit = _nearest_capability(queue, resource, queues)
        if limit is not None and value > limit:
            raise Refusal(
                f"queue {queue['metadata']['name']} capability[{resource}]={_text(resource, value)} exceeds its "
                f"ancestor's capability={_text(resource, limit)}"
            )


def _nearest_capability(queue: Object, resource: str, queues: Queues) -> Decimal | None:
    parent = parent_of(queue)
    while parent not in ("", ROOT) and parent in queues:
        value = _amounts(queues[parent], "capability").get(resource, Decimal(0))
        if value > 0:
            return value
        parent = parent_of(queues[parent])
    return None


def _require_above_descendants(queue: Object, children: Iterable[Object], queues: Queues) -> None:
    for resource, value in _amounts(queue, "capability").items():
        largest = max(_largest_capability(child, resource, queues) for child in children)
        if value < largest:
            raise Refusal(
                f"queue {queue['metadata']['name']} capability[{resource}]={_text(resource, value)} is smaller than "
                f"its descendants' max capability={_text(resource, largest)}"
            )


def _largest_capability(queue: Object, resource: str, queues: Queues) -> Decimal:
    value = _amounts(queue, "capability").get(resource, Decimal(0))
    if value > 0:
        return value
    below = children_of(queue["metadata"]["name"], queues)
    return max((_largest_capability(child, resource, queues) for child in below), default=Decimal(0))


def _require_sums(who: str, above: Object, below: Iterable[Object]) -> None:
    queues = list(below)
    for field in ("guarantee", "deserved"):
        limit = _amounts(above, field)
        total: Amounts = {}
        for queue in queues:
            for resource, value in _amounts(queue, field).items():
                total[resource] = total.get(resource, Decimal(0)) + value
        if any(value > limit.get(resource, Decimal(0)) for resource, value in total.items()):
            raise Refusal(
                f"{who} validation failed: sum of children's {field} ({_all(total)}) exceeds parent's {field} "
                f"limit ({_all(limit)})"
            )


def _amounts(queue: Object, field: str) -> Amounts:
    """Amounts as Volcano's scheduler keeps them: memory in bytes, pods whole, everything else in thousandths."""
    spec = queue.get("spec") or {}
    texts = (spec.get("guarantee") or {}).get("resource") if field == "guarantee" else spec.get(field)
    return {
        resource: parse(text).value * (1 if resource in ("memory", "pods") else 1000)
        for resource, text in (texts or {}).items()
    }


def _text(resource: str, value: Decimal) -> str:
    if resource == "cpu":
        return str(Amount(value / 1000))
    if resource == "memory":
        return str(Amount(value, binary=True))
    return f"{value:.2f}"


def _all(amounts: Amounts) -> str:
    text = f"cpu {amounts.get('cpu', 0):.2f}, memory {amounts.get('memory', 0):.2f}"
    others = ((name, value) for name, value in sorted(amounts.items()) if name not in ("cpu", "memory"))
    return text + "".join(f", {name} {value:.2f}" for name, value in others)
