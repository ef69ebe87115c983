"""The action allocate: nodes for the pods of enqueued jobs, a gang at a time (volcano-facts 5.6)."""

import heapq
from collections import deque
from enum import Enum, auto

from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.nodeorder import best_node
from app.simulator.volcano.scheduler.ordering import JobKey, job_key, queue_key, task_key
from app.simulator.volcano.scheduler.phases import INQUEUE
from app.simulator.volcano.scheduler.proportion import QueueBook
from app.simulator.volcano.scheduler.resources import fits
from app.simulator.volcano.scheduler.rules import is_overused, is_pipelined, is_ready, is_valid, may_allocate
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statement import Statement
from app.simulator.volcano.scheduler.statuses import TaskStatus
from app.simulator.volcano.scheduler.texts import nodes_unavailable, role_failed_before


class _Outcome(Enum):
    """What came of trying a task; HOPELESS means that the job's other tasks are not worth trying."""

    PLACED = auto()
    PASSED_OVER = auto()
    HOPELESS = auto()


_Jobs = list[tuple[JobKey, Job]]


def allocate(session: Session) -> None:
    """Give the best job of the best queue its turn until no queue has a job left.

    A job whose gang is complete but which has waiting pods comes back for one more pod, taking turns with the other
    queues. An overused queue is left out for the session. Without the action enqueue, waiting PodGroups are let in here
    and nobody is asked.
    """
    policy = session.policy
    if "enqueue" not in policy.actions:
        _let_all_in(session)
    jobs = _jobs_by_queue(session)
    waiting = {job.facts.uid: _waiting_tasks(session, job) for queued in jobs.values() for _, job in queued}
    queues = [(queue_key(policy, session.books[name]), name) for name in jobs]
    heapq.heapify(queues)
    while queues:
        _, name = heapq.heappop(queues)
        book = session.books[name]
        if is_overused(session, book) or not jobs[name]:
            continue
        _, job = heapq.heappop(jobs[name])
        tasks = waiting[job.facts.uid]
        if _turn(session, book, job, tasks) and tasks:
            heapq.heappush(jobs[name], (job_key(policy, job), job))
        heapq.heappush(queues, (queue_key(policy, book), name))


def _let_all_in(session: Session) -> None:
    for job in session.jobs:
        if job.is_pending:
            job.phase = INQUEUE


def _jobs_by_queue(session: Session) -> dict[str, _Jobs]:
    """Jobs that may be tried: enqueued, with enough usable pods and with a pod that waits."""
    jobs: dict[str, _Jobs] = {}
    for job in session.jobs:
        waits = not job.is_pending and job.count(TaskStatus.PENDING) > 0
        if waits and is_valid(session, job) and _waiting_tasks(session, job):
            jobs.setdefault(job.facts.queue, []).append((job_key(session.policy, job), job))
    for queued in jobs.values():
        heapq.heapify(queued)
    return jobs


def _waiting_tasks(session: Session, job: Job) -> deque[Task]:
    """The tasks to try, best first: those that are gated, or ask for nothing, are not tried here."""
    tasks = (task for task in job.pending() if not task.facts.gated and not task.facts.best_effort)
    return deque(sorted(tasks, key=lambda task: task_key(session.policy, task)))


def _turn(session: Session, book: QueueBook, job: Job, tasks: deque[Task]) -> bool:
    """Try a job's tasks until its gang is complete. True when it is, and what was found is bound."""
    statement = Statement(session)
    while tasks:
        outcome = _try(session, book, job, tasks.popleft(), statement)
        if outcome is _Outcome.HOPELESS or (outcome is _Outcome.PLACED and is_ready(session, job)):
            break
    if is_ready(session, job):
        statement.commit()
        return True
    if not is_pipelined(session, job):
        statement.discard()
    return False


def _try(session: Session, book: QueueBook, job: Job, task: Task, statement: Statement) -> _Outcome:
    """Try one task.

    A task that the queue's share does not allow is passed over without a reason: no text ever tells of the share.
    """
    if not may_allocate(session, book, task):
        return _Outcome.PASSED_OVER
    uid, role = task.facts.uid, task.facts.role
    if role and role in job.failed_roles:
        job.fit_errors[uid] = role_failed_before(task)
        return _Outcome.PASSED_OVER
    node = _find_node(session, task)
    if isinstance(node, str):
        job.fit_errors[uid] = node
        job.failed_roles.add(role)
        return _Outcome.PASSED_OVER if job.goes_on_after_failure() else _Outcome.HOPELESS
    status = TaskStatus.ALLOCATED if fits(task.request, node.idle) else TaskStatus.PIPELINED
    statement.place(job, task, node, status)
    return _Outcome.PLACED


def _find_node(session: Session, task: Task) -> Node | str:
    """The best node that is free, else the best one that will be; or the text why there is none."""
    kind = task.facts.constraints, task.facts.request_text
    known = session.no_node.get(kind)
    if known and known[0] == session.occupancy:
        return known[1]
    possible, reasons = [], []
    for node in session.nodes.values():
        reason = session.predicates.reason(task.facts.constraints, task.request, node)
        if reason is None:
            possible.append(node)
        else:
            reasons.append(reason)
    if not possible:
        text = nodes_unavailable(reasons)
        session.no_node[kind] = session.occupancy, text
        return text
    free = [node for node in possible if fits(task.request, node.idle)]
    return best_node(task.request, free or possible, session.rng, session.weights)
