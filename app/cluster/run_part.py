"""What the present run of a job is of: all of its pods, or those that have not succeeded yet. Pure.

Volcano numbers the pods of a task from 0. Where a run has only some of the indices, each pod waits at a scheduling gate
until the controller has written on it which index it is (ADR 0016).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.jobs import gang
from app.jobs.schemas import JobCreate, Task

RunIndices = Mapping[str, Sequence[int]]
"""By the name of a task, the indices that run; a task that is not named does not run."""


@dataclass(frozen=True, slots=True)
class PartTask:
    """One task of a run.

    Attributes:
        indices: of its pods; the place in this list is the index that Volcano gives the pod.
        numbered: those are not the same, so the pod has to be told.
        gated: pods are made at a scheduling gate, and let go by the controller.
        depends_on: of the tasks that it waits for, those that run.
    """

    name: str
    task: Task
    indices: Sequence[int]
    numbered: bool
    gated: bool
    depends_on: tuple[str, ...]

    @property
    def replicas(self) -> int:
        """Pods of the task in this run."""
        return len(self.indices)

    @property
    def min_available(self) -> int:
        """The least number of its pods."""
        return min(gang.task_min_available(self.task), self.replicas)


def part_of(spec: JobCreate, run_indices: RunIndices | None) -> list[PartTask]:
    """The tasks of a run, in the order of the job; None is the whole job."""
    names = gang.task_names(spec)
    runs = set(names) if run_indices is None else set(run_indices)
    pairs = zip(names, spec.tasks, strict=True)
    return [_part(name, task, run_indices, runs) for name, task in pairs if name in runs]


def _part(name: str, task: Task, run_indices: RunIndices | None, runs: set[str]) -> PartTask:
    indices = gang.indices(task) if run_indices is None else run_indices[name]
    numbered = run_indices is not None or (task.array is not None and task.array.indices is not None)
    return PartTask(
        name=name,
        task=task,
        indices=indices,
        numbered=numbered,
        gated=numbered or gang.at_a_time(task) < len(indices),
        depends_on=tuple(other for other in task.depends_on if other in runs),
    )


def min_available(spec: JobCreate, part: Sequence[PartTask]) -> int:
    """The size of the gang in this run: of what is left, at the most as much as there is at the same time."""
    first = sum(min(gang.at_a_time(each.task), each.replicas) for each in part if not each.depends_on)
    return min(gang.min_available(spec), first)


def min_success(spec: JobCreate, part: Sequence[PartTask], succeeded: int) -> int | None:
    """How many pods of this run have to succeed, after `succeeded` of earlier runs; None when all have to end."""
    if spec.min_success is None:
        return None
    return min(max(1, spec.min_success - succeeded), sum(each.replicas for each in part))
