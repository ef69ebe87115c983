"""The action reclaim: a queue takes back from others what it is entitled to (Volcano v1.15.1; volcano-facts 5.7)."""

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
from app.simulator.volcano.scheduler.model import Job, Node
from app.simulator.volcano.scheduler.proportion import QueueBook
from app.simulator.volcano.scheduler.rules import is_overused, is_pipelined, is_starving, may_reclaim
from app.simulator.volcano.scheduler.starving import queue_turns, starving_jobs, waiting_tasks
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statement import Statement
from app.simulator.volcano.scheduler.statuses import TaskStatus
from app.simulator.volcano.scheduler.votes import reclaimable

REASON = "reclaim"


def reclaim(session: Session) -> None:
    """Evict pods of other queues for starving jobs; nobody is evicted unless the job's whole gang then has room."""
    starving = starving_jobs(session)
    where = residents(session) if starving else {}
    for name in queue_turns(session, starving):
        book = session.books[name]
        if not is_overused(session, book):
            for job in starving[name]:
                _for_job(session, book, job, where)


def _for_job(session: Session, book: QueueBook, job: Job, where: Residents) -> None:
    statement = Statement(session)
    tasks = waiting_tasks(session, job)
    while tasks and is_starving(session, job):
        task = tasks.popleft()
        taker = Candidate(job, task)
        entitled = task.facts.may_preempt and may_reclaim(session, book, task)
        if (
            entitled
            and not known_without_victims(session, REASON, taker)
            and not _for_task(session, statement, taker, where)
        ):
            note_without_victims(session, REASON, taker)
    if is_pipelined(session, job):
        statement.commit()
    else:
        statement.discard()


def _for_task(session: Session, statement: Statement, taker: Candidate, where: Residents) -> bool:
    """Make room on the first node where that is possible; a node on which it is not stays as it was."""
    for node in possible_nodes(session, taker.task):
        candidates = _of_other_queues(session, taker, where[node.facts.name])
        if candidates and would_do(taker.task, node, candidates):
            victims = reclaimable(session, taker, candidates)
            if would_do(taker.task, node, victims):
                statement.merge(_evict(session, taker, node, victims))
                return True
    return False


def _evict(session: Session, taker: Candidate, node: Node, victims: list[Candidate]) -> Statement:
    statement = Statement(session)
    evicts = False
    for victim in in_order(session, victims):
        if has_room(taker.task, node):
            break
        statement.evict(victim.job, victim.task, REASON)
        evicts = True
    statement.place(taker.job, taker.task, node, TaskStatus.PIPELINED, evicts=evicts)
    return statement


def _of_other_queues(session: Session, taker: Candidate, there: list[Candidate]) -> list[Candidate]:
    """Running tasks of queues that are reclaimable, which they are unless they say no."""
    own = taker.job.facts.queue
    return [
        item
        for item in there
        if item.task.status == TaskStatus.RUNNING
        and item.job.facts.queue != own
        and session.queues[item.job.facts.queue].reclaimable
    ]
