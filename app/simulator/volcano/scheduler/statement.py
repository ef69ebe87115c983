"""Placements that are tried together and then kept or given up as one (Volcano v1.15.1, `framework/statement.go`)."""

from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.resources import dominant_share
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statuses import TaskStatus


class Statement:
    """The placements tried for one job."""

    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job
        self._tasks: list[Task] = []
        self._occupancy = session.occupancy

    def place(self, task: Task, node: Node, status: TaskStatus) -> None:
        """Put a task on a node, Allocated or Pipelined, in the books of this session only."""
        self._move(task, node, status)
        node.take(task.request, status)
        self._session.last_occupancy += 1
        self._session.occupancy = self._session.last_occupancy
        self._tasks.append(task)

    def commit(self) -> None:
        """Bind what is allocated. What is pipelined stays promised until the session ends."""
        for task in self._tasks:
            task.discarded = None
            if task.status == TaskStatus.ALLOCATED:
                self._job.move(task, TaskStatus.BINDING)
                self._session.bind(task)
        self._tasks.clear()

    def discard(self) -> None:
        """Give all up, and remember for the texts where each task would have gone."""
        for task in reversed(self._tasks):
            task.discarded = task.status, task.node
            node = self._session.nodes[task.node]
            node.give_back(task.request, task.status)
            self._move(task, None, TaskStatus.PENDING)
        self._tasks.clear()
        self._session.occupancy = self._occupancy

    def _move(self, task: Task, node: Node | None, status: TaskStatus) -> None:
        task.node = node.facts.name if node else ""
        self._job.move(task, status)
        self._job.share = dominant_share(self._job.claimed, self._session.total)
        self._session.books[self._job.facts.queue].claim(task.request, 1.0 if node else -1.0)
