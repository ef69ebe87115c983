"""Closes a session: statuses, conditions and events of jobs, and what queues hold."""

from app.simulator.volcano.scheduler.facts import ROOT_QUEUE
from app.simulator.volcano.scheduler.gang import condition, with_condition
from app.simulator.volcano.scheduler.model import Job, Task
from app.simulator.volcano.scheduler.phases import differs, phase_of, status_of
from app.simulator.volcano.scheduler.pod_conditions import condition_of
from app.simulator.volcano.scheduler.resources import Resources, add, write
from app.simulator.volcano.scheduler.results import (
    POD_GROUP_SCHEDULED,
    POD_GROUP_UNSCHEDULABLE,
    Event,
    JobResult,
    PodCondition,
)
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statuses import TaskStatus
from app.simulator.volcano.scheduler.texts import READY, gang_unschedulable, job_fit, placement, task_reason

_WAITING_PHASES = ("Unknown", "Pending", "Inqueue")
_EXPLAINED = (TaskStatus.ALLOCATED, TaskStatus.PENDING, TaskStatus.PIPELINED)


def close_job(session: Session, job: Job, transition: str, now: str) -> JobResult:
    """What becomes of a job's PodGroup and of its waiting pods."""
    fit = job_fit(job)
    new = condition(job, fit, transition, now) if session.policy.has_gang else None
    unschedulable = new is not None and new["type"] == POD_GROUP_UNSCHEDULABLE
    old = job.facts.status
    phase = phase_of(job, unschedulable=unschedulable)
    status = status_of(job, with_condition(old.get("conditions") or [], new), phase)
    changed = differs(status, old)
    event = _event(job, phase, fit, changed=changed)
    return JobResult(
        group=job.facts.raw,
        status=status if changed else None,
        events=() if event is None else (event,),
        conditions=_pod_conditions(job, fit),
    )


def _event(job: Job, phase: str, fit: str, *, changed: bool) -> Event | None:
    """A waiting PodGroup gets a Warning in every session, a healthy one "ready" whenever it was written."""
    if phase in _WAITING_PHASES:
        text = gang_unschedulable(job.count(TaskStatus.PENDING), job, fit)
        return Event(job.facts.raw, "Warning", POD_GROUP_UNSCHEDULABLE, text)
    return Event(job.facts.raw, "Normal", POD_GROUP_SCHEDULED, READY) if changed else None


def _pod_conditions(job: Job, fit: str) -> tuple[PodCondition, ...]:
    """The conditions that differ from what the pods say; that of a gated pod is the API server's."""
    found = []
    for task in job.tasks:
        if task.status in _EXPLAINED and not task.facts.gated:
            reason, message = task_reason(job, task)
            nominated = _nominated(task)
            if _is_news(task, reason, message or fit) or nominated not in ("", task.facts.nominated):
                found.append(PodCondition(task.facts.raw, reason, message or fit, nominated))
    return tuple(found)


def _nominated(task: Task) -> str:
    """The node on which others were evicted for a task; a session that evicts none leaves the field as it is."""
    status, node, evicts = placement(task)
    return node if evicts and status == TaskStatus.PIPELINED else ""


def _is_news(task: Task, reason: str, message: str) -> bool:
    said = condition_of(task.facts.raw, "PodScheduled")
    return said is None or (said.get("status"), said.get("reason"), said.get("message")) != ("False", reason, message)


def allocated_by_queue(session: Session) -> dict[str, dict[str, str]]:
    """`status.allocated` of every queue: what its tasks hold, and those of all queues below it.

    Pods that are being deleted or only promised a node are not counted, nor are jobs whose queue is gone.
    """
    held: dict[str, Resources] = {name: {} for name in session.queues}
    for job in session.jobs:
        for name in _lineage(session, job.facts.queue):
            add(held[name], job.allocated)
    return {name: write(_held(amounts)) for name, amounts in held.items()}


def _held(amounts: Resources) -> Resources:
    """Without what a given-up placement left at zero."""
    return {name: amount for name, amount in amounts.items() if amount > 0.0}


def _lineage(session: Session, name: str) -> list[str]:
    """A queue and its ancestors up to root, those that exist, each once."""
    names: list[str] = []
    while name in session.queues and name not in names:
        names.append(name)
        name = session.queues[name].parent if name != ROOT_QUEUE else ""
    if ROOT_QUEUE in session.queues and ROOT_QUEUE not in names:
        names.append(ROOT_QUEUE)
    return names
