"""The jobs for which others may be evicted, in their order; shared by the actions reclaim and preempt."""

from collections import deque
from collections.abc import Iterable, Iterator

from app.simulator.volcano.scheduler.model import Job, Task
from app.simulator.volcano.scheduler.ordering import job_key, queue_key, task_key
from app.simulator.volcano.scheduler.rules import is_starving, is_valid
from app.simulator.volcano.scheduler.state import Session


def starving_jobs(session: Session) -> dict[str, list[Job]]:
    """Enqueued jobs that lack pods, by queue, best first.

    A job whose gang is complete is never among them by default: pods beyond minAvailable evict nobody.
    """
    found: dict[str, list[Job]] = {}
    for job in session.jobs:
        if not job.is_pending and is_starving(session, job) and is_valid(session, job):
            found.setdefault(job.facts.queue, []).append(job)
    for jobs in found.values():
        jobs.sort(key=lambda job: job_key(session.policy, job))
    return found


def queue_turns(session: Session, names: Iterable[str]) -> Iterator[str]:
    """Each queue once, always the one that comes first at that moment: what a turn does changes the shares."""
    left = set(names)
    while left:
        name = min(left, key=lambda name: queue_key(session.policy, session.books[name]))
        left.remove(name)
        yield name


def waiting_tasks(session: Session, job: Job) -> deque[Task]:
    """A job's tasks without a node, best first, but for those behind a scheduling gate."""
    tasks = (task for task in job.pending() if not task.facts.gated)
    return deque(sorted(tasks, key=lambda task: task_key(session.policy, task)))
