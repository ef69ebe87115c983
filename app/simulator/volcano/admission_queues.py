"""Admission of Queues (`pkg/webhooks/admission/queues` of Volcano v1.15.1; volcano-facts 3.2)."""

from collections.abc import Mapping
from decimal import Decimal

from app.simulator.amounts import Amount, parse
from app.simulator.objects import Object
from app.simulator.pod_checks import is_extended
from app.simulator.volcano.admission_hierarchy import (
    children_of,
    parent_of,
    require_fitting_hierarchy,
    require_parent,
)
from app.simulator.volcano.admission_refusal import Refusal
from app.simulator.volcano.admission_templates import read

HIERARCHY = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS = "volcano.sh/hierarchy-weights"
_LIMITS = ("capability", "deserved")


def mutate(queue: Object) -> Object:
    """Return a new Queue with Volcano's defaults: reclaimable, weight 1, and `root` above an annotated hierarchy.

    Raises:
        Refusal: a quantity cannot be read.
    """
    spec = queue.setdefault("spec", {})
    if not isinstance(spec, dict):
        return queue
    _require_quantities(spec)
    if spec.get("reclaimable") is None:
        spec["reclaimable"] = True
    spec["weight"] = spec.get("weight") or 1
    annotations = queue["metadata"].get("annotations") or {}
    path, weights = annotations.get(HIERARCHY), annotations.get(HIERARCHY_WEIGHTS)
    if path and weights and not path.startswith("root"):
        annotations[HIERARCHY] = f"root/{path}"
        annotations[HIERARCHY_WEIGHTS] = f"1/{weights}"
    return queue


def _require_quantities(spec: Object) -> None:
    for amounts in (spec.get("capability"), spec.get("deserved"), (spec.get("guarantee") or {}).get("resource")):
        for text in (amounts if isinstance(amounts, dict) else {}).values():
            read(text)


def validate(old: Object | None, new: Object, queues: Mapping[str, Object]) -> None:
    """Refuse a new or changed Queue.

    Args:
        old: the Queue before, None for a new one.
        new: the Queue after.
        queues: all Queues by name.

    Raises:
        Refusal: with Volcano's words.
    """
    _require_quantities(new["spec"])
    problems = [*_amount_problems(new["spec"]), *_state_problems(new), *_annotation_problems(new, queues)]
    if problems:
        raise Refusal(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    if old is None or parent_of(old) != parent_of(new):
        require_parent(new, queues)
    name = new["metadata"]["name"]
    if name == "root":
        if old is not None and _resources(old) != _resources(new):
            raise Refusal("root queue's resource attributes (capability, deserved, guarantee) cannot be modified")
    elif old is None or parent_of(old) != parent_of(new) or _resources(old) != _resources(new):
        require_fitting_hierarchy(new, queues)


def _resources(queue: Object) -> list[dict[str, Amount]]:
    spec = queue["spec"]
    held = (spec.get("capability"), spec.get("deserved"), (spec.get("guarantee") or {}).get("resource"))
    return [{name: Amount(parse(text).value) for name, text in (amounts or {}).items()} for amounts in held]


def _amount_problems(spec: Object) -> list[str]:
    problems: list[str] = []
    for field in _LIMITS:
        for name, text in (spec.get(field) or {}).items():
            problems += _value_problems(name, text, f"requestBody.spec.{field}.{name}")
    deserved, capability = spec.get("deserved") or {}, spec.get("capability") or {}
    for name, text in ((spec.get("guarantee") or {}).get("resource") or {}).items():
        problems += _value_problems(name, text, f"requestBody.spec.guarantee.resource.{name}")
        problems += _guarantee_problems(name, parse(text), deserved)
    for name, text in deserved.items():
        if name in capability and parse(text).value > parse(capability[name]).value:
            problems.append(
                f'requestBody.spec.deserved.{name}: Invalid value: "{parse(text)}": '
                f"deserved[{name}]={parse(text)} must be <= capability[{name}]={parse(capability[name])}"
            )
    return problems


def _value_problems(name: str, text: object, path: str) -> list[str]:
    amount = parse(text)
    if amount.value < 0:
        return [f'{path}: Invalid value: "{amount}": must be greater than or equal to 0']
    if is_extended(name) and amount.value != amount.value.to_integral_value():
        return [f'{path}: Invalid value: "{amount}": must be an integer']
    return []


def _guarantee_problems(name: str, guarantee: Amount, deserved: Object) -> list[str]:
    path = f"requestBody.spec.deserved.{name}"
    if name not in deserved:
        return [f'{path}: Invalid value: "<nil>": deserved[{name}] must be >= guarantee[{name}]={guarantee}']
    amount = parse(deserved[name])
    if amount.value >= guarantee.value:
        return []
    return [f'{path}: Invalid value: "{amount}": deserved[{name}]={amount} must be >= guarantee[{name}]={guarantee}']


def _state_problems(queue: Object) -> list[str]:
    state = (queue.get("status") or {}).get("state") or ""
    # A Queue that is Closing or Unknown cannot be changed: the webhook knows two states only.
    if state in ("", "Open", "Closed"):
        return []
    return [f'requestBody.spec.state: Invalid value: "{state}": queue state must be in [Open Closed]']


def _annotation_problems(queue: Object, queues: Mapping[str, Object]) -> list[str]:
    annotations = queue["metadata"].get("annotations") or {}
    path, weights = annotations.get(HIERARCHY) or "", annotations.get(HIERARCHY_WEIGHTS) or ""
    if not path and not weights:
        return []
    field = "requestBody.metadata.annotations"
    if len(path.split("/")) != len(weights.split("/")):
        return [f'{field}: Invalid value: "{path}": {HIERARCHY} must have the same length with {HIERARCHY_WEIGHTS}']
    for weight in weights.split("/"):
        problem = _weight_problem(weight, weights)
        if problem:
            return [f'{field}: Invalid value: "{weights}": {problem}']
    for other in queues.values():
        below = (other["metadata"].get("annotations") or {}).get(HIERARCHY) or ""
        name = other["metadata"]["name"]
        if name != queue["metadata"]["name"] and below.startswith(f"{path}/"):
            text = f"{path} is not allowed to be in the sub path of {below} of queue {name}"
            return [f'{field}: Invalid value: "{path}": {text}']
    return []


def _weight_problem(weight: str, weights: str) -> str:
    try:
        value = Decimal(weight)
    except ArithmeticError:
        return f'{weight} in the {weights} is invalid number: strconv.ParseFloat: parsing "{weight}": invalid syntax'
    return "" if value > 0 else f"{weight} in the {weights} must be larger than 0"


def validate_delete(queue: Object, queues: Mapping[str, Object]) -> None:
    """Refuse to delete `default`, `root` and a Queue with children; running jobs are no reason.

    Raises:
        Refusal: with Volcano's words.
    """
    name = queue["metadata"]["name"]
    if name in ("default", "root"):
        raise Refusal(f"`{name}` queue can not be deleted")
    children = children_of(name, queues)
    if children:
        names = ", ".join(child["metadata"]["name"] for child in children)
        raise Refusal(f"queue {name} can not be deleted because it has {len(children)} child queues: {names}")
