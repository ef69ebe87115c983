"""The action preempt: a job of a higher PriorityClass takes the place of others of its queue (Volcano v1.15.1; 5.7).

Here and in Volcano it also acts where nodes have room and only the queue's share is used up.
"""

from collections.abc import Callable

from app.simulator.volcano.scheduler.candidates import (
    Candidate,
    Residents,
    has_room,
    in_order,
    known_without_victims,
    note_without_victims,
    possible_nodes,
    residents,
    would_do,
)
from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.nodeorder import score
from app.simulator.volcano.scheduler.rules import is_pipelined, is_starving, may_allocate
from app.simulator.volcano.scheduler.starving import queue_turns, starving_jobs, waiting_tasks
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statement import Statement
from app.simulator.volcano.scheduler.statuses import EVICTABLE_STATUSES, TaskStatus
from app.simulator.volcano.scheduler.votes import preemptable

REASON = "preempt"

_Choice = Callable[[Candidate], bool]


def preempt(session: Session) -> None:
    """Evict pods for starving jobs of their queue: first those of other jobs, then, task by task, of the same job."""
    starving = starving_jobs(session)
    where = residents(session) if starving else {}
    for name in queue_turns(session, starving):
        for job in starving[name]:
            _among_jobs(session, job, where)
        for job in starving[name]:
            _inside_job(session, job, where)


def _among_jobs(session: Session, job: Job, where: Residents) -> None:
    """Nobody is evicted unless the job's whole gang then has room."""

    def other_job(item: Candidate) -> bool:
        return item.job is not job and item.job.facts.queue == job.facts.queue

    statement = Statement(session)
    tasks = waiting_tasks(session, job)
    while tasks and is_starving(session, job):
        taker = Candidate(job, tasks.popleft())
        if not known_without_victims(session, REASON, taker) and not _for_task(
            session, statement, taker, where, other_job
        ):
            note_without_victims(session, REASON, taker)
    if is_pipelined(session, job):
        statement.commit()
    else:
        statement.discard()


def _inside_job(session: Session, job: Job, where: Residents) -> None:
    """Each task for itself, until one finds no room."""
    for task in waiting_tasks(session, job):
        statement = Statement(session)
        if not _for_task(session, statement, Candidate(job, task), where, lambda item: item.job is job):
            return
        statement.commit()


def _for_task(session: Session, statement: Statement, taker: Candidate, where: Residents, may_choose: _Choice) -> bool:
    """Make room on the best node where that is possible; a node on which it is not stays as it was."""
    if not _may_preempt(session, taker.task):
        return False
    request, weights = taker.task.request, session.weights
    possible = _nodes_with_victims(session, taker, where, may_choose)
    for node, victims in sorted(possible, key=lambda item: -score(request, item[0], weights)):
        tried = Statement(session)
        if _evict(session, tried, taker, node, victims):
            statement.merge(tried)
            return True
        tried.discard()
    return False


def _nodes_with_victims(
    session: Session, taker: Candidate, where: Residents, may_choose: _Choice
) -> list[tuple[Node, list[Candidate]]]:
    """Nodes that have room for a task once all are gone who may be evicted for it, and who they are."""
    found = []
    for node in possible_nodes(session, taker.task):
        candidates = [item for item in where[node.facts.name] if may_choose(item) and _is_evictable(taker, item)]
        if would_do(taker.task, node, candidates):
            victims = preemptable(session, taker, candidates) if candidates else []
            if would_do(taker.task, node, victims):
                found.append((node, victims))
    return found


def _evict(session: Session, statement: Statement, taker: Candidate, node: Node, victims: list[Candidate]) -> bool:
    """Evict until the taker fits the node and its queue's share."""
    book = session.books[taker.job.facts.queue]
    left = in_order(session, victims)
    evicts = False
    while not (fits := may_allocate(session, book, taker.task) and has_room(taker.task, node)) and left:
        victim = left.pop(0)
        statement.evict(victim.job, victim.task, REASON)
        evicts = True
    if fits:
        statement.place(taker.job, taker.task, node, TaskStatus.PIPELINED, evicts=evicts)
    return fits


def _is_evictable(taker: Candidate, item: Candidate) -> bool:
    """Whether a task still holds its node; for one that asks for nothing only such ones are evicted."""
    nothing_for_nothing = item.task.facts.best_effort or not taker.task.facts.best_effort
    return item.task.status in EVICTABLE_STATUSES and nothing_for_nothing


def _may_preempt(session: Session, task: Task) -> bool:
    """Whether a task may have others evicted.

    One for which that was done already may not do it again while its node is one it could use, even if the room it got
    was taken by somebody else (Volcano v1.15.1, `taskEligibleToPreempt`).
    """
    if not task.facts.may_preempt:
        return False
    nominated = task.facts.nominated
    if not nominated:
        return True
    node = session.nodes.get(nominated)
    return node is not None and session.predicates.reason_without_resources(task.facts.constraints, node) is not None
