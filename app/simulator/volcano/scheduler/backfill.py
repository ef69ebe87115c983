"""The action backfill: pods that ask for nothing go to any node that may take them, whatever the quotas say."""

from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.nodeorder import best_node
from app.simulator.volcano.scheduler.ordering import job_key, queue_key, task_key
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statement import Statement
from app.simulator.volcano.scheduler.statuses import TaskStatus
from app.simulator.volcano.scheduler.texts import nodes_unavailable


def backfill(session: Session) -> None:
    """Place the best-effort pods of enqueued jobs, one by one and without a gang."""
    for job in sorted(_jobs(session), key=lambda job: (queue_key(session.books[job.facts.queue]), job_key(job))):
        for task in sorted(filter(_waits, job.pending()), key=task_key):
            _place(session, job, task)


def _jobs(session: Session) -> list[Job]:
    return [job for job in session.jobs if not job.is_pending and any(map(_waits, job.pending())) and job.is_valid()]


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
    statement = Statement(session, job)
    statement.place(task, best_node(task.request, possible, session.rng), TaskStatus.ALLOCATED)
    statement.commit()
