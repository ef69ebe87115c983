"""What a job takes: the one function that counts for the quota check, the charge and the manifest. Pure."""

from decimal import Decimal

from app import quantity
from app.jobs.schemas import JobCreate, Resources, Task


def per_replica(resources: Resources) -> dict[str, int]:
    """Extended resources of one replica, in whole units; empty when it asks for none.

    Raises:
        TypeError: the GPUs are a fraction, which validation refuses before.
    """
    if not isinstance(resources.gpus, int):
        raise TypeError("a fraction of a GPU cannot be counted")
    return {resources.gpu_resource: resources.gpus} if resources.gpus else {}


def of_task(task: Task) -> dict[str, int]:
    """Extended resources of all replicas of a task."""
    return {resource: amount * task.replicas for resource, amount in per_replica(task.resources).items()}


def of_job(spec: JobCreate) -> dict[str, int]:
    """Extended resources of all replicas of all tasks, whatever the gang's size: what the team's quota is charged."""
    total: dict[str, int] = {}
    for task in spec.tasks:
        for resource, amount in of_task(task).items():
            total[resource] = total.get(resource, 0) + amount
    return total


def compute_of_job(spec: JobCreate) -> dict[str, Decimal]:
    """Cores and bytes of all replicas of all tasks, exactly."""
    return {
        "cpu": sum((quantity.parse(task.resources.cpu) * task.replicas for task in spec.tasks), Decimal(0)),
        "memory": sum((quantity.parse(task.resources.memory) * task.replicas for task in spec.tasks), Decimal(0)),
    }
