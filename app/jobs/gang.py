"""Sizes and names inside a job, with the defaults for what its owner left out. Pure."""

from collections.abc import Iterable, Sequence

from app.jobs.schemas import JobCreate, Task


def task_name(spec: JobCreate, index: int) -> str:
    """The name of a task; `worker` for a single one without a name, else `task<index>`."""
    return spec.tasks[index].name or ("worker" if len(spec.tasks) == 1 else f"task{index}")


def task_names(spec: JobCreate) -> list[str]:
    """The names of all tasks, in their order."""
    return [task_name(spec, index) for index in range(len(spec.tasks))]


def task_min_available(task: Task) -> int:
    """The least number of pods of a task; by default all of them, or one where pods do not need each other."""
    if task.min_available is not None:
        return task.min_available
    return task.replicas if task.array is None else 1


def at_a_time(task: Task) -> int:
    """How many pods of a task there may be at the same time."""
    if task.array is None or task.array.parallelism is None:
        return task.replicas
    return min(task.array.parallelism, task.replicas)


def indices(task: Task) -> Sequence[int]:
    """The indices of a task's pods, in their order."""
    chosen = None if task.array is None else task.array.indices
    return range(task.replicas) if chosen is None else sorted(chosen)


def replicas(spec: JobCreate) -> int:
    """Pods of all tasks."""
    return sum(task.replicas for task in spec.tasks)


def first_stage_replicas(spec: JobCreate) -> int:
    """Pods of the tasks that wait for no other: all that can exist when the job starts."""
    return sum(task.replicas for task in spec.tasks if not task.depends_on)


def min_available(spec: JobCreate) -> int:
    """The size of the gang: how many pods have to be placed at the same time.

    By default the least pods of every task that depends on nothing. Pods that `dependsOn` withholds must not count: the
    gang would wait for pods that wait for the gang (volcano-facts 8.4, Volcano v1.15.1).
    """
    if spec.min_available is not None:
        return spec.min_available
    return sum(task_min_available(task) for task in spec.tasks if not task.depends_on)


def is_independent(spec: JobCreate) -> bool:
    """Whether pods do not need each other, so that each may run again by itself.

    It is so when fewer than all are enough to start, or to succeed, and in arrays; else the job is one gang.
    """
    some_suffice = spec.min_success is not None or min_available(spec) < first_stage_replicas(spec)
    return some_suffice or any(task.array is not None for task in spec.tasks)


def longest_suffix(tasks: Iterable[tuple[str, int]]) -> str:
    """The longest `-<task>-<index>` that follows the Job's name in the name of a pod.

    Volcano's webhook puts the task's place in the list where the pod has its index (volcano-facts 3.1, v1.15.1), so the
    longer of the two counts.

    Args:
        tasks: of a job, in their order: name and number of pods.
    """
    return max((f"-{name}-{max(pods - 1, place)}" for place, (name, pods) in enumerate(tasks)), key=len)
