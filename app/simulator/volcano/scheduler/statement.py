"""Placements and evictions that are tried together, then kept or given up as one (Volcano v1.15.1, `statement.go`)."""

from dataclasses import dataclass

from app.simulator.volcano.scheduler.model import Job, Node, Placement, Task
from app.simulator.volcano.scheduler.resources import dominant_share
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statuses import TaskStatus


@dataclass(frozen=True, slots=True)
class _Step:
    """What was done to a task. `reason` is that of an eviction, empty for a placement; `before` the earlier status."""

    job: Job
    task: Task
    before: TaskStatus
    reason: str = ""


class Statement:
    """Steps in the books of a session; nothing is asked of the cluster before `commit`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps: list[_Step] = []
        self._occupancy = session.occupancy

    def place(self, job: Job, task: Task, node: Node, status: TaskStatus, *, evicts: bool = False) -> None:
        """Put a task on a node, Allocated or Pipelined."""
        self._steps.append(_Step(job, task, task.status))
        task.node, task.evicts = node.facts.name, evicts
        self._move(job, task, status, 1.0)
        node.take(task.request, status)
        self._occupied()

    def evict(self, job: Job, task: Task, reason: str) -> None:
        """Have a task leave its node; what it holds is promised at once."""
        self._steps.append(_Step(job, task, task.status, reason))
        self._move(job, task, TaskStatus.RELEASING, -1.0)
        self._session.nodes[task.node].release(task.request)
        self._occupied()

    def merge(self, other: "Statement") -> None:
        """Take over the steps of another statement, which then has none."""
        self._steps += other.hand_over()

    def hand_over(self) -> list[_Step]:
        """Give the steps away."""
        steps, self._steps = self._steps, []
        return steps

    def commit(self) -> None:
        """Bind what is allocated, delete what is evicted. What is pipelined stays promised until the session ends."""
        for step in self._steps:
            step.task.discarded = None
            if step.reason:
                self._session.evict(step.job, step.task, step.reason)
            elif step.task.status == TaskStatus.ALLOCATED:
                step.job.move(step.task, TaskStatus.BINDING)
                self._session.bind(step.task)
        self._steps.clear()

    def discard(self) -> None:
        """Give all up, and remember for the texts where each task would have gone."""
        for step in reversed(self._steps):
            if step.reason:
                self._session.nodes[step.task.node].release(step.task.request, -1.0)
                self._move(step.job, step.task, step.before, 1.0)
            else:
                self._take_back(step)
        self._steps.clear()
        self._session.occupancy = self._occupancy

    def _take_back(self, step: _Step) -> None:
        task = step.task
        task.discarded = Placement(task.status, task.node, task.evicts)
        self._session.nodes[task.node].give_back(task.request, task.status)
        task.node, task.evicts = "", False
        self._move(step.job, task, step.before, -1.0)

    def _move(self, job: Job, task: Task, status: TaskStatus, claims: float) -> None:
        """Change a status and the sums of job and queue that depend on it."""
        job.move(task, status)
        job.share = dominant_share(job.claimed, self._session.total)
        self._session.books[job.facts.queue].claim(task.request, claims)

    def _occupied(self) -> None:
        self._session.last_occupancy += 1
        self._session.occupancy = self._session.last_occupancy
