"""What the configured plugins say together about jobs, queues and tasks (Volcano v1.15.1, `session_plugins.go`)."""

from collections.abc import Callable

from app.simulator.volcano.scheduler.model import Job, Task
from app.simulator.volcano.scheduler.proportion import QueueBook
from app.simulator.volcano.scheduler.state import Session

_STARVING: dict[str, Callable[[Job], bool]] = {"gang": Job.is_starving, "priority": Job.lacks_tasks}


def is_valid(session: Session, job: Job) -> bool:
    """Whether a job has enough usable pods to be worth trying."""
    return not session.policy.has_gang or job.is_valid()


def is_ready(session: Session, job: Job) -> bool:
    """Whether what is allocated of a job may be bound."""
    return not session.policy.keeps_gangs or job.is_gang_ready()


def is_pipelined(session: Session, job: Job) -> bool:
    """Whether what is promised to a job, and what was evicted for it, may stay so."""
    return not session.policy.pipelines_gangs or job.is_gang_pipelined()


def is_starving(session: Session, job: Job) -> bool:
    """Whether a job may have others evicted. The first tier with an opinion decides, and all its plugins must agree."""
    first = next(iter(session.policy.starving), ())
    return bool(first) and all(_STARVING[name](job) for name in first)


def may_allocate(session: Session, book: QueueBook, task: Task) -> bool:
    """Whether a queue's share leaves room for a task."""
    return not session.policy.limits_allocation or book.may_allocate(task.request)


def may_reclaim(session: Session, book: QueueBook, task: Task) -> bool:
    """Whether a queue is entitled to take from other queues for a task (Volcano's "preemptive")."""
    return not session.policy.limits_reclaim or book.may_reclaim(task.request)


def is_overused(session: Session, book: QueueBook) -> bool:
    """Whether a queue is left out for the session."""
    return session.policy.stops_overused and book.is_overused()
