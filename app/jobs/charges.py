"""What a job takes: the one function that counts for the quota check, the charge and the manifest. Pure."""

from decimal import Decimal

from app import quantity
from app.jobs import gang
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
    """Extended resources of a task: of all replicas, or of as many as an array has at the same time."""
    pods = gang.at_a_time(task)
    return {resource: amount * pods for resource, amount in per_replica(task.resources).items()}


def of_job(spec: JobCreate) -> dict[str, int]:
    """Extended resources of all tasks, whatever the gang's size: what the team's quota is charged."""
    total: dict[str, int] = {}
    for task in spec.tasks:
        for resource, amount in of_task(task).items():
            total[resource] = total.get(resource, 0) + amount
    return total


def compute_of_job(spec: JobCreate) -> dict[str, Decimal]:
    """Cores and bytes of all pods that there may be at the same time, exactly."""
    pods = [(task.resources, gang.at_a_time(task)) for task in spec.tasks]
    return {
        "cpu": sum((quantity.parse(each.cpu) * number for each, number in pods), Decimal(0)),
        "memory": sum((quantity.parse(each.memory) * number for each, number in pods), Decimal(0)),
    }
