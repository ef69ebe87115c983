"""The action enqueue: which waiting PodGroups are let in, so that their pods are created (volcano-facts 5.4).

A job that is refused does not hold up those behind it. What a job asks for is `minResources`, which counts only the
`requests` of the Job's raw template: a job that names GPUs only under `limits` passes every check here.
"""

import heapq

from app.simulator.volcano.scheduler.model import Job
from app.simulator.volcano.scheduler.ordering import job_key, queue_key
from app.simulator.volcano.scheduler.phases import INQUEUE
from app.simulator.volcano.scheduler.resources import Resources
from app.simulator.volcano.scheduler.results import POD_GROUP_UNSCHEDULABLE, Event
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.texts import cluster_overused, quota_insufficient


def enqueue(session: Session) -> None:
    """Let in, best queue and best job first, every pending job that overcommit and proportion both permit."""
    waiting: dict[str, list[Job]] = {}
    for job in session.jobs:
        if job.is_pending:
            waiting.setdefault(job.facts.queue, []).append(job)
    for jobs in waiting.values():
        jobs.sort(key=lambda job: job_key(session.policy, job), reverse=True)
    queues = [(queue_key(session.policy, session.books[name]), name) for name in waiting]
    heapq.heapify(queues)
    while queues:
        key, name = queues[0]
        job = waiting[name].pop()
        if _permitted(session, job):
            job.phase = INQUEUE
        if waiting[name]:
            heapq.heapreplace(queues, (key, name))
        else:
            heapq.heappop(queues)


def _permitted(session: Session, job: Job) -> bool:
    """Ask the plugins of the first tier that has any: all of them must permit, and only the first that refuses says so.

    By default these are overcommit and proportion.
    """
    minimum = job.facts.min_resources
    if minimum is None:
        return True
    asked = next(iter(session.policy.enqueueable), ())
    for name in asked:
        vote = _ask_overcommit if name == "overcommit" else _ask_queue
        if not vote(session, job, minimum):
            return False
    session.overcommit.enqueued(job)
    return True


def _ask_overcommit(session: Session, job: Job, minimum: Resources) -> bool:
    short = session.overcommit.short_for_enqueue(minimum)
    if short:
        _say(session, job, cluster_overused(short))
    return not short


def _ask_queue(session: Session, job: Job, minimum: Resources) -> bool:
    """Ask the queue's share, which reserves at once what it permits. A closed queue refuses in silence."""
    book = session.books[job.facts.queue]
    if not book.is_open:
        return False
    short = book.short_for_enqueue(minimum)
    if short:
        _say(session, job, quota_insufficient(short))
        return False
    book.reserve(job)
    return True


def _say(session: Session, job: Job, text: str) -> None:
    session.events.append(Event(job.facts.raw, "Normal", POD_GROUP_UNSCHEDULABLE, text))
