"""Whether a job can ever run in a queue, by the queue's capability. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from app import quantity
from app.jobs import charges, gang
from app.jobs.schemas import JobCreate, Task


@dataclass(frozen=True, slots=True)
class Excess:
    """A resource of which a job needs more at one time than its queue may ever use."""

    resource: str
    limit: int | str
    requested: int | str

    @property
    def sentence(self) -> str:
        """What is too much, with the numbers."""
        need = f"{self.requested} {self.resource}"
        return f"The job needs {need} at the same time, and its queue may use at most {self.limit}."


def excess(spec: JobCreate, capability: Mapping[str, str]) -> Excess | None:
    """The first resource of which the job needs too much at one time; None when it can fit.

    What it needs at one time is its gang, counted from its smallest pods, or its largest pod when that is more. A job
    whose gang fits can run in turns, even when all of its replicas together are above the capability. A resource that
    the capability does not name has no bound (Volcano v1.15.1, proportion).
    """
    for resource, text in sorted(capability.items()):
        limit = quantity.parse(text)
        requested = _least_at_once(spec, resource)
        if requested > limit:
            return Excess(resource, _number(limit), _number(requested))
    return None


def _least_at_once(spec: JobCreate, resource: str) -> Decimal:
    left = gang.min_available(spec)
    gang_needs = Decimal(0)
    for amount, replicas in sorted(_pods(spec.tasks, resource, waiting=False)):
        taken = min(left, replicas)
        gang_needs += amount * taken
        left -= taken
    return max(gang_needs, *(amount for amount, _ in _pods(spec.tasks, resource, waiting=True)))


def _pods(tasks: list[Task], resource: str, *, waiting: bool) -> Iterator[tuple[Decimal, int]]:
    for task in tasks:
        if waiting or not task.depends_on:
            yield _of_one(task, resource), task.replicas


def _of_one(task: Task, resource: str) -> Decimal:
    if resource in {"cpu", "memory"}:
        return quantity.parse(task.resources.cpu if resource == "cpu" else task.resources.memory)
    return Decimal(charges.per_replica(task.resources).get(resource, 0))


def _number(amount: Decimal) -> int | str:
    return int(amount) if amount == amount.to_integral_value() else quantity.canonical(amount)
