"""The tasks that might be evicted: where they are and in which order they go (volcano-facts 5.5, 5.7)."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.ordering import JobRank, QueueKey, TaskKey, job_rank, queue_key, task_key
from app.simulator.volcano.scheduler.resources import add, fits
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statuses import EVICTABLE_STATUSES


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A task on a node, with its job."""

    job: Job
    task: Task


Residents = dict[str, list[Candidate]]
"""Candidates by node. Volcano walks a Go map here; this order is fixed."""


def residents(session: Session) -> Residents:
    """The tasks that hold a node and may be evicted at all, unless `volcano.sh/preemptable` says no."""
    found: Residents = {name: [] for name in session.nodes}
    for job in session.jobs:
        for task in job.tasks:
            if task.node in found and task.status in EVICTABLE_STATUSES and task.facts.preemptable:
                found[task.node].append(Candidate(job, task))
    return found


def possible_nodes(session: Session, task: Task) -> list[Node]:
    """The nodes that could take a task if there were room."""
    reason = session.predicates.lasting_reason
    return [node for node in session.nodes.values() if reason(task.facts.constraints, node) is None]


def would_do(task: Task, node: Node, victims: Iterable[Candidate]) -> bool:
    """Whether a node has room for a task once all victims are gone."""
    room = dict(node.future)
    for victim in victims:
        add(room, victim.task.request)
    return fits(task.request, room)


def has_room(task: Task, node: Node) -> bool:
    """Whether a node has room for a task once what leaves it is gone."""
    return fits(task.request, node.future)


def known_without_victims(session: Session, action: str, taker: Candidate) -> bool:
    """Whether nobody could make room for a task of the job that is like this one, and nothing has changed since."""
    return session.no_victims.get(_kind(action, taker)) == session.occupancy


def note_without_victims(session: Session, action: str, taker: Candidate) -> None:
    """Remember that nobody can make room for a task, unless that is because of the task itself."""
    if taker.task.facts.may_preempt and not taker.task.facts.nominated:
        session.no_victims[_kind(action, taker)] = session.occupancy


def _kind(action: str, taker: Candidate) -> tuple[str, str, str, str, int]:
    facts = taker.task.facts
    return action, taker.job.facts.uid, facts.constraints, facts.request_text, facts.priority


def in_order(session: Session, victims: Iterable[Candidate]) -> list[Candidate]:
    """Who goes first: queues, then jobs, then tasks in the reverse of the order in which they are served."""
    return sorted(victims, key=lambda victim: _key(session, victim), reverse=True)


def _key(session: Session, victim: Candidate) -> tuple[QueueKey, JobRank, TaskKey]:
    policy, job = session.policy, victim.job
    return (
        queue_key(policy, session.books[job.facts.queue]),
        job_rank(policy, job),
        task_key(policy, victim.task),
    )
