"""Admission of pod templates: Kubernetes' own checks, run by Volcano's webhook on each task."""

import copy
from collections.abc import Iterator

from app.simulator.amounts import parse
from app.simulator.defaults import apply_defaults
from app.simulator.kinds import POD
from app.simulator.objects import Object
from app.simulator.pod_checks import pod_causes
from app.simulator.volcano.admission_refusal import Refusal


def containers_of(template: Object) -> list[Object]:
    """All containers of a template."""
    spec = template.get("spec") or {}
    return [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]


def quantities_of(template: Object) -> Iterator[tuple[Object, str]]:
    """Every quantity of a template, as the dictionary that holds it and its key."""
    for container in containers_of(template):
        resources = container.get("resources") or {}
        for field in ("limits", "requests"):
            for name in resources.get(field) or {}:
                yield resources[field], name


def require_quantities(template: Object) -> None:
    """Refuse a template with a quantity that cannot be read; Volcano's webhooks fail to decode it.

    Raises:
        Refusal: Kubernetes' words about the form of a quantity.
    """
    for holder, name in quantities_of(template):
        read(holder[name])


def read(text: object) -> str:
    """Return a quantity in its canonical form.

    Raises:
        Refusal: it is none.
    """
    try:
        return str(parse(text))
    except ValueError as error:
        raise Refusal(str(error)) from None


def with_canonical_quantities(template: Object) -> Object:
    """Return a copy in which equal amounts are equal texts."""
    changed = copy.deepcopy(template)
    for holder, name in quantities_of(changed):
        holder[name] = read(holder[name])
    return changed


def template_problem(task: Object, index: int) -> str:
    """Return Kubernetes' complaints about a task's template in Volcano's form, else an empty text."""
    template = with_canonical_quantities(task.get("template") or {})
    pod: Object = {"metadata": {}, "spec": template.get("spec") or {}}
    apply_defaults(POD, pod)
    causes = [f"template.{cause.field}: {cause.message}. " for cause in pod_causes(pod)]
    if causes:
        return f"spec.task[{index}].{''.join(causes)}"
    return _topology_problem(task, index)


def _topology_problem(task: Object, index: int) -> str:
    if task.get("topologyPolicy") in (None, "", "none"):
        return ""
    containers = containers_of(task.get("template") or {})
    if not all(_guaranteed(container) for container in containers):
        return f"spec.task[{index}] isn't Guaranteed pod, kind=Burstable"
    for number, container in enumerate(containers):
        cpu = parse(_limits(container)["cpu"]).value
        if cpu == 0 or cpu != cpu.to_integral_value():
            return f"the cpu request isn't  an integer in spec.task[{index}] container[{number}]."
    return ""


def _limits(container: Object) -> Object:
    return (container.get("resources") or {}).get("limits") or {}


def _guaranteed(container: Object) -> bool:
    limits = _limits(container)
    requests = (container.get("resources") or {}).get("requests") or limits
    named = all(name in limits and name in requests for name in ("cpu", "memory"))
    return named and all(parse(limits[name]).value == parse(requests[name]).value for name in ("cpu", "memory"))
