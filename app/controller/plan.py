"""What a job's spec says about its runs: which pods there are, what runs again, and for how long. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Indices = Mapping[str, Sequence[int]]
"""By the name of a task, the indices of its pods."""


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """A task.

    Attributes:
        indices: of its pods, in their order.
        at_a_time: pods that there may be at the same time.
    """

    name: str
    indices: Sequence[int]
    at_a_time: int


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done about a pod that ended with one of the codes, or by one of the causes."""

    exit_codes: frozenset[int]
    causes: frozenset[str]
    action: str


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job.

    Attributes:
        independent: its pods do not need each other, so each may run again by itself; else it is one gang.
        retries: further runs, of the job or of each pod, after failures.
    """

    tasks: tuple[TaskPlan, ...] = ()
    independent: bool = False
    retries: int = 0
    rules: tuple[Rule, ...] = ()
    run_timeout_seconds: int | None = None
    queue_timeout_seconds: int | None = None

    def indices(self, run_indices: Indices | None) -> Indices:
        """What a run is of; None is everything."""
        return {task.name: task.indices for task in self.tasks} if run_indices is None else run_indices


NO_PLAN = JobPlan()


def plan_of(spec: Mapping[str, Any]) -> JobPlan:
    """Read a stored spec, of this release or of an earlier one."""
    tasks = spec["tasks"]
    retries = spec.get("retries") or {}
    return JobPlan(
        tasks=tuple(_task(task) for task in tasks),
        independent=_independent(spec),
        retries=retries.get("max", 0),
        rules=tuple(_rule(rule) for rule in retries.get("on", ())),
        run_timeout_seconds=spec.get("run_timeout_seconds"),
        queue_timeout_seconds=spec.get("queue_timeout_seconds"),
    )


def _task(task: Mapping[str, Any]) -> TaskPlan:
    array = task.get("array") or {}
    chosen = array.get("indices")
    indices = range(task["replicas"]) if chosen is None else sorted(chosen)
    at_a_time = min(array.get("parallelism") or len(indices), len(indices))
    return TaskPlan(task["name"], indices, at_a_time)


def _rule(rule: Mapping[str, Any]) -> Rule:
    return Rule(frozenset(rule.get("exit_codes", ())), frozenset(rule.get("causes", ())), rule["action"])


def _independent(spec: Mapping[str, Any]) -> bool:
    """As `gang.is_independent`, on the spec as stored."""
    first = sum(task["replicas"] for task in spec["tasks"] if not task.get("depends_on"))
    some_suffice = spec.get("min_success") is not None or all_needed(spec) < first
    return some_suffice or any(task.get("array") for task in spec["tasks"])


def all_needed(spec: Mapping[str, Any]) -> int:
    """How many pods have to succeed for Volcano to call the Job Completed (volcano-facts 2.3, state Running)."""
    given: int | None = spec.get("min_available")
    tasks = [task for task in spec["tasks"] if not task.get("depends_on")]
    least = sum(_least(task) for task in tasks) if given is None else given
    replicas: int = sum(task["replicas"] for task in spec["tasks"])
    return min(replicas, least)


def _least(task: Mapping[str, Any]) -> int:
    if task.get("min_available") is not None:
        return int(task["min_available"])
    return 1 if task.get("array") else int(task["replicas"])
