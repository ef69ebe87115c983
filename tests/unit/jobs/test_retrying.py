"""What a retry runs of a job that has ended."""

from typing import Any

import pytest

from app.jobs import gang, validation
from app.jobs.retrying import spec_again
from app.jobs.schemas import JobCreate

TASK = {"image": "registry.test/llm:1", "resources": {"gpus": 1}}


def ended(**job: Any) -> dict[str, Any]:
    """The row of an ended job; its spec is stored with every default."""
    spec = JobCreate.model_validate({"name": "a", **job})
    names = gang.task_names(spec)
    tasks = [task.model_copy(update={"name": name}) for task, name in zip(spec.tasks, names, strict=True)]
    stored = spec.model_copy(update={"tasks": tasks, "min_available": gang.min_available(spec)})
    facts = {"queue": "q", "priority": "normal", "labels": {}, "submitted_at": None}
    return {"spec": stored.model_dump(mode="json"), **facts}


def again(row: dict[str, Any], *succeeded: tuple[str, int]) -> JobCreate:
    """The job that a retry makes, which has to be one that anybody could submit."""
    spec = spec_again(row, frozenset(succeeded))
    validation.check(spec, ("normal",))
    return JobCreate.model_validate(spec.model_dump(mode="json"))


@pytest.mark.parametrize(
    ("array", "succeeded", "left"),
    [
        ({"size": 4}, [0, 2], [1, 3]),
        ({"size": 4, "parallelism": 2}, [0, 1, 2], [3]),
        ({"size": 9, "indices": [2, 5, 8]}, [5], [2, 8]),
    ],
)
def test_only_what_has_not_succeeded_of_an_array_runs_again(
    array: dict[str, Any], succeeded: list[int], left: list[int]
) -> None:
    spec = again(ended(tasks=[{**TASK, "array": array}]), *(("worker", index) for index in succeeded))
    (task,) = spec.tasks
    assert task.array is not None
    assert (task.array.size, task.array.indices, task.replicas) == (array["size"], left, len(left))


@pytest.mark.parametrize("succeeded", [[], [0, 1, 2]])
def test_an_array_of_which_nothing_or_all_succeeded_runs_again_as_a_whole(succeeded: list[int]) -> None:
    row = ended(tasks=[{**TASK, "array": {"size": 3}}], min_success=2)
    spec = again(row, *(("worker", index) for index in succeeded))
    assert (spec.tasks[0].replicas, spec.min_success) == (3, 2)


def test_an_array_that_is_done_is_left_out_and_nobody_waits_for_it() -> None:
    tasks = [
        {**TASK, "name": "split", "array": {"size": 2}},
        {**TASK, "name": "merge", "replicas": 1, "depends_on": ["split"]},
    ]
    spec = again(ended(tasks=tasks, min_success=3), ("split", 0), ("split", 1), ("merge", 0))
    assert [(task.name, task.depends_on) for task in spec.tasks] == [("merge", [])]
    assert (gang.min_available(spec), spec.min_success) == (1, 1)


def test_a_gang_runs_again_as_a_whole() -> None:
    spec = again(ended(tasks=[{**TASK, "replicas": 4}]), ("worker", 0), ("worker", 1))
    assert (spec.tasks[0].replicas, spec.min_available) == (4, 4)
