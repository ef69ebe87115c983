"""`minResources` of a PodGroup: the quota usage of the gang's raw templates (volcano-facts 2.11)."""

from collections.abc import Iterable, Mapping

from app.simulator.amounts import Amount, parse
from app.simulator.objects import Object
from app.simulator.volcano.job_states import task_minimum, total_task_minimum

Amounts = dict[str, Amount]
_LIMITED = ("cpu", "memory", "ephemeral-storage")


def min_resources(job: Object, priorities: Mapping[str, int]) -> dict[str, str]:
    """Return what the gang of a Job needs, as Volcano counts it.

    Only the `requests` of the raw templates count: a GPU that stands under `limits` alone is not seen.

    Args:
        job: the Job.
        priorities: value of each PriorityClass that exists.
    """
    spec = job["spec"]
    tasks = sorted(spec["tasks"], key=lambda task: -_priority(task, priorities))
    minimum = int(spec.get("minAvailable", 0))
    counts = _first(tasks, minimum) if minimum < total_task_minimum(spec) else _minimums(tasks, minimum)
    total: Amounts = {}
    for task, count in zip(tasks, counts, strict=True):
        if count > 0:
            _add(total, {name: amount.times(count) for name, amount in pod_usage(task["template"]["spec"]).items()})
    return {name: str(amount) for name, amount in sorted(total.items())}


def _priority(task: Object, priorities: Mapping[str, int]) -> int:
    return priorities.get(task["template"].get("spec", {}).get("priorityClassName") or "", 0)


def _first(tasks: list[Object], minimum: int) -> list[int]:
    """The first pods in order of priority."""
    counts = []
    for task in tasks:
        count = min(minimum, int(task.get("replicas", 0)))
        counts.append(count)
        minimum -= count
    return counts


def _minimums(tasks: list[Object], minimum: int) -> list[int]:
    """Each task's minAvailable, topped up from the replicas that are left."""
    counts = []
    for task in tasks:
        count = min(minimum, int(task["minAvailable"])) if task.get("minAvailable") is not None else 0
        counts.append(count)
        minimum -= count
    for index, task in enumerate(tasks):
        own = task_minimum(task) if task.get("minAvailable") is not None else 0
        more = min(minimum, int(task.get("replicas", 0)) - own)
        counts[index] += more
        minimum -= more
    return counts


def pod_usage(spec: Object) -> Amounts:
    """Return the quota usage of one pod (Kubernetes' pod evaluator), plus each extended resource under its own name."""
    requests, limits = _effective(spec, "requests"), _effective(spec, "limits")
    usage: Amounts = {"pods": parse(1), "count/pods": parse(1)}
    for name, amount in requests.items():
        usage[name] = amount
        usage[f"requests.{name}"] = amount
    for name in _LIMITED:
        if name in limits:
            usage[f"limits.{name}"] = limits[name]
    return usage


def _effective(spec: Object, kind: str) -> Amounts:
    """Sum over containers, or one init container where that needs more, plus the overhead."""
    total: Amounts = {}
    for amounts in _declared(spec.get("containers") or [], kind):
        _add(total, amounts)
    for amounts in _declared(spec.get("initContainers") or [], kind):
        for name, amount in amounts.items():
            if name not in total or amount.value > total[name].value:
                total[name] = amount
    _add(total, {name: parse(text) for name, text in (spec.get("overhead") or {}).items()})
    return total


def _declared(containers: Iterable[Object], kind: str) -> Iterable[Amounts]:
    for container in containers:
        declared = (container.get("resources") or {}).get(kind) or {}
        yield {name: parse(text) for name, text in declared.items()}


def _add(total: Amounts, more: Mapping[str, Amount]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
