"""What the gang plugin writes when a session closes (Volcano v1.15.1, `plugins/gang`; volcano-facts 6.2)."""

from app.simulator.objects import Object
from app.simulator.volcano.scheduler.model import Job
from app.simulator.volcano.scheduler.results import POD_GROUP_SCHEDULED, POD_GROUP_UNSCHEDULABLE
from app.simulator.volcano.scheduler.statuses import ALLOCATED_STATUSES
from app.simulator.volcano.scheduler.texts import gang_unschedulable

NOT_ENOUGH_RESOURCES = "NotEnoughResources"
READY = "tasks in gang are ready to be scheduled"


def condition(job: Job, fit: str, transition: str, now: str) -> Object | None:
    """The condition of a job after a session with the gang plugin; None for a job without pods, which has none.

    Neither condition is ever set to False: after a job has been both, both are True and the later one is valid.
    """
    if not job.tasks:
        return None
    stamps = {"lastTransitionTime": now, "status": "True", "transitionID": transition}
    if job.is_ready():
        return {"type": POD_GROUP_SCHEDULED, "reason": READY, **stamps}
    message = gang_unschedulable(job.minimum - _placeable(job), job, fit)
    return {"type": POD_GROUP_UNSCHEDULABLE, "reason": NOT_ENOUGH_RESOURCES, "message": message, **stamps}


def with_condition(conditions: list[Object], new: Object | None) -> list[Object]:
    """The conditions with the new one in the place of the old one of its type, or at the end."""
    if new is None:
        return conditions
    if all(old["type"] != new["type"] for old in conditions):
        return [*conditions, new]
    return [new if old["type"] == new["type"] else old for old in conditions]


def _placeable(job: Job) -> int:
    """Tasks that are ready, or were placed in this session before the gang was given up."""
    tried = sum(task.discarded is not None and task.discarded.status in ALLOCATED_STATUSES for task in job.pending())
    return tried + job.ready_count()
