"""The tasks, jobs and nodes of one session, which change while it tries placements."""

from dataclasses import dataclass, field
from typing import NamedTuple

from app.simulator.volcano.scheduler.facts import GroupFacts, NodeFacts
from app.simulator.volcano.scheduler.pod_facts import PodFacts
from app.simulator.volcano.scheduler.resources import Resources, add
from app.simulator.volcano.scheduler.statuses import (
    ALLOCATED_STATUSES,
    PROMISED_STATUSES,
    READY_STATUSES,
    VALID_STATUSES,
    TaskStatus,
)


class Placement(NamedTuple):
    """Where a task is or was to go; `evicts` when other tasks were to make room for it."""

    status: TaskStatus
    node: str
    evicts: bool = False


@dataclass(slots=True, eq=False)
class Task:
    """A pod of a job. `discarded` remembers a placement that was given up because the gang was not complete."""

    facts: PodFacts
    status: TaskStatus
    node: str
    evicts: bool = False
    discarded: Placement | None = None

    @property
    def request(self) -> Resources:
        """What the pod asks for."""
        return self.facts.request


@dataclass(slots=True, eq=False)
class Node:
    """A node with what is taken of it."""

    facts: NodeFacts
    idle: Resources
    future: Resources
    """Idle once the pods that are being deleted are gone, less what is already promised of that."""
    pods: int = 0

    def take(self, request: Resources, status: TaskStatus) -> None:
        """Book a task."""
        if status != TaskStatus.PIPELINED:
            add(self.idle, request, -1.0)
            self.pods += 1
        if status != TaskStatus.RELEASING:
            add(self.future, request, -1.0)

    def release(self, request: Resources, times: float = 1.0) -> None:
        """Count on a task's leaving: it still holds what it has, but that is promised; -1.0 takes the promise back."""
        add(self.future, request, times)

    def give_back(self, request: Resources, status: TaskStatus) -> None:
        """Undo `take`."""
        if status != TaskStatus.PIPELINED:
            add(self.idle, request)
            self.pods -= 1
        add(self.future, request)


@dataclass(slots=True, eq=False)
class Job:
    """A PodGroup with its tasks."""

    facts: GroupFacts
    priority: int
    phase: str
    tasks: list[Task] = field(default_factory=list)
    by_status: dict[TaskStatus, dict[str, Task]] = field(default_factory=dict)
    allocated: Resources = field(default_factory=dict)
    claimed: Resources = field(default_factory=dict)
    """`allocated` and what is pipelined; the share of drf is counted from it."""
    share: float = 0.0
    fit_errors: dict[str, str] = field(default_factory=dict)
    """By task uid, in the order they were met."""
    failed_roles: set[str] = field(default_factory=set)

    @property
    def minimum(self) -> int:
        """The gang's size."""
        return self.facts.min_member

    @property
    def is_pending(self) -> bool:
        """Not yet let into the cluster."""
        return self.phase in ("", "Pending")

    def add(self, task: Task) -> None:
        """Take in a task."""
        self.tasks.append(task)
        self.by_status.setdefault(task.status, {})[task.facts.uid] = task
        if task.status in ALLOCATED_STATUSES:
            add(self.allocated, task.request)
            add(self.claimed, task.request)

    def move(self, task: Task, status: TaskStatus) -> None:
        """Change a task's status and the sums that depend on it."""
        self._book(task, -1.0)
        del self.by_status[task.status][task.facts.uid]
        task.status = status
        self.by_status.setdefault(status, {})[task.facts.uid] = task
        self._book(task, 1.0)

    def count(self, status: TaskStatus) -> int:
        """Number of tasks in a status."""
        return len(self.by_status.get(status, ()))

    def pending(self) -> list[Task]:
        """Tasks without a node."""
        return list(self.by_status.get(TaskStatus.PENDING, {}).values())

    def count_in(self, statuses: frozenset[TaskStatus]) -> int:
        """Number of tasks in any of some statuses."""
        return sum(len(tasks) for status, tasks in self.by_status.items() if status in statuses)

    def ready_count(self) -> int:
        """Tasks that count for the gang."""
        return self.count_in(READY_STATUSES)

    def is_ready(self) -> bool:
        """Whether enough tasks are ready; best-effort ones that still wait count too."""
        return self.ready_count() + self._waiting_best_effort() >= self.minimum

    def is_gang_ready(self) -> bool:
        """Whether the gang, and each role's own minimum, is complete."""
        return self.is_ready() and self._roles_reach(READY_STATUSES, with_best_effort=True)

    def is_gang_pipelined(self) -> bool:
        """Whether the gang is complete once the pods that are being deleted are gone."""
        enough = self.count_in(PROMISED_STATUSES) + self._waiting_best_effort() >= self.minimum
        return enough and self._roles_reach(PROMISED_STATUSES, with_best_effort=True)

    def is_starving(self) -> bool:
        """Whether the gang is not complete even with what is promised; best-effort tasks that wait do not count."""
        return self.count_in(PROMISED_STATUSES) < self.minimum

    def lacks_tasks(self) -> bool:
        """Whether any task is neither ready nor promised a node."""
        return self.count_in(PROMISED_STATUSES) < len(self.tasks)

    def is_valid(self) -> bool:
        """Whether there are enough usable pods for the gang; failed ones and those being deleted are not."""
        if self.count_in(VALID_STATUSES) < self.minimum:
            return False
        return self._roles_reach(VALID_STATUSES, with_best_effort=False)

    def goes_on_after_failure(self) -> bool:
        """Whether other tasks are worth trying after one found no node (`NeedContinueAllocating`)."""
        if self.minimum >= len(self.tasks):
            return False
        if self._skips_roles():
            left = sum(task.facts.role not in self.failed_roles for task in self.pending())
            return self.ready_count() + left >= self.minimum
        reached = self._by_role(READY_STATUSES, with_best_effort=True)
        minimums = self.facts.min_task_member
        return all(reached.get(role, 0) >= minimums.get(role, 0) for role in self.failed_roles)

    def _waiting_best_effort(self) -> int:
        return sum(task.facts.best_effort for task in self.by_status.get(TaskStatus.PENDING, {}).values())

    def _skips_roles(self) -> bool:
        return self.minimum < sum(self.facts.min_task_member.values())

    def _roles_reach(self, statuses: frozenset[TaskStatus], *, with_best_effort: bool) -> bool:
        if self._skips_roles():
            return True
        reached = self._by_role(statuses, with_best_effort=with_best_effort)
        return all(reached.get(role, 0) >= least for role, least in self.facts.min_task_member.items())

    def _by_role(self, statuses: frozenset[TaskStatus], *, with_best_effort: bool) -> dict[str, int]:
        counts: dict[str, int] = {}
        for task in self.tasks:
            waits = with_best_effort and task.status == TaskStatus.PENDING and task.facts.best_effort
            if task.status in statuses or waits:
                counts[task.facts.role] = counts.get(task.facts.role, 0) + 1
        return counts

    def _book(self, task: Task, times: float) -> None:
        if task.status in ALLOCATED_STATUSES:
            add(self.allocated, task.request, times)
        if task.status in ALLOCATED_STATUSES or task.status == TaskStatus.PIPELINED:
            add(self.claimed, task.request, times)
