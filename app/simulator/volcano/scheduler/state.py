"""What the actions of one session share."""

import random
from dataclasses import dataclass, field

from app.simulator.volcano.scheduler.facts import QueueFacts
from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.nodeorder import Weights
from app.simulator.volcano.scheduler.overcommit import Overcommit
from app.simulator.volcano.scheduler.policy import Policy
from app.simulator.volcano.scheduler.predicates import Predicates
from app.simulator.volcano.scheduler.proportion import QueueBook
from app.simulator.volcano.scheduler.resources import Resources
from app.simulator.volcano.scheduler.results import Bind, Event, Eviction


@dataclass(slots=True, eq=False)
class Session:
    """The state of a session.

    `occupancy` names the present state of all nodes: a placement or an eviction gives it a new number, giving all of
    them up brings the old number back. So what was found out about the nodes at one number stays true whenever it is
    reached again.
    """

    policy: Policy
    weights: Weights
    total: Resources
    nodes: dict[str, Node]
    jobs: list[Job]
    queues: dict[str, QueueFacts]
    books: dict[str, QueueBook]
    overcommit: Overcommit
    rng: random.Random
    predicates: Predicates
    binds: list[Bind] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    occupancy: int = 0
    last_occupancy: int = 0
    no_node: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    """Per kind of pod the occupancy at which no node could take it, and the text about it."""
    no_victims: dict[tuple[str, str, str, str, int], int] = field(default_factory=dict)
    """Per action, job and kind of pod the occupancy at which nobody could make room for it."""

    def bind(self, task: Task) -> None:
        """Ask for a task to be bound to its node."""
        self.binds.append(Bind(task.facts.raw, task.node))

    def evict(self, job: Job, task: Task, reason: str) -> None:
        """Ask for a task to be deleted."""
        self.evictions.append(Eviction(task.facts.raw, job.facts.raw, reason))
