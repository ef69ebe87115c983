"""What is wrong with the array of a task. Pure."""

from collections.abc import Iterator

from app.errors import Invalid
from app.jobs.faults import Place
from app.jobs.schemas import Task, TaskArray
from app.validation import invalid

INDEX_VARIABLE = "PUMICE_INDEX"
SIZE_VARIABLE = "PUMICE_ARRAY_SIZE"

VARIABLES = frozenset({INDEX_VARIABLE, SIZE_VARIABLE, "VC_TASK_INDEX", "VK_TASK_INDEX"})
"""What the container of an array is told by itself."""


def array_faults(task: Task, where: Place) -> Iterator[Invalid]:
    """Every fault of a task's array; the task stands at `where` in the body."""
    if task.array is None:
        return
    yield from _indices(task.array, (*where, "array"))
    number = task.array.size if task.array.indices is None else len(task.array.indices)
    if task.replicas != number:
        words = f"An array stands in place of replicas; this one has {number} indices and not {task.replicas}"
        yield invalid((*where, "replicas"), words, "array")
    if task.min_available is not None:
        words = "The pods of an array do not need each other; leave min_available out"
        yield invalid((*where, "min_available"), words, "array")
    for member, names in (("env", task.env), ("secret_env", task.secret_env)):
        for name in sorted(VARIABLES & set(names)):
            yield invalid((*where, member, name), f"{name} is set by itself in an array", "variable")


def _indices(array: TaskArray, where: Place) -> Iterator[Invalid]:
    seen: set[int] = set()
    for place, index in enumerate(array.indices or ()):
        if index >= array.size:
            words = f"The indices of an array of {array.size} end with {array.size - 1}"
            yield invalid((*where, "indices", place), words, "out-of-range")
        elif index in seen:
            yield invalid((*where, "indices", place), f"{index} stands twice", "duplicate")
        seen.add(index)
