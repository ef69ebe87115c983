"""The action backfill: pods that ask for nothing go to any node that may take them, whatever the quotas say."""

from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.nodeorder import best_node
from app.simulator.volcano.scheduler.ordering import JobKey, QueueKey, job_key, queue_key, task_key
from app.simulator.volcano.scheduler.rules import is_valid
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statement import Statement
from app.simulator.volcano.scheduler.statuses import TaskStatus
from app.simulator.volcano.scheduler.texts import nodes_unavailable


def backfill(session: Session) -> None:
    """Place the best-effort pods of enqueued jobs, one by one and without a gang."""
    for job in sorted(_jobs(session), key=lambda job: _key(session, job)):
        for task in sorted(filter(_waits, job.pending()), key=lambda task: task_key(session.policy, task)):
            _place(session, job, task)


def _key(session: Session, job: Job) -> tuple[QueueKey, JobKey]:
    return queue_key(session.policy, session.books[job.facts.queue]), job_key(session.policy, job)


def _jobs(session: Session) -> list[Job]:
    jobs = (job for job in session.jobs if not job.is_pending and is_valid(session, job))
    return [job for job in jobs if any(map(_waits, job.pending()))]


def _waits(task: Task) -> bool:
    return task.facts.best_effort and not task.facts.gated


def _place(session: Session, job: Job, task: Task) -> None:
    possible: list[Node] = []
    reasons: list[str] = []
    for node in session.nodes.values():
        reason = session.predicates.reason_without_resources(task.facts.constraints, node)
        if reason is None:
            possible.append(node)
        else:
            reasons.append(reason)
    if not possible:
        job.fit_errors[task.facts.uid] = nodes_unavailable(reasons)
        return
    statement = Statement(session)
    node = best_node(task.request, possible, session.rng, session.weights)
    statement.place(job, task, node, TaskStatus.ALLOCATED)
    statement.commit()
