"""Tasks of indexed pods: what is asked, charged and refused."""

from typing import Any

import pytest

from app.errors import ValidationError
from app.jobs import charges, gang
from app.jobs.schemas import JobCreate
from app.jobs.validation import check


def array_job(array: dict[str, Any], **task: Any) -> JobCreate:
    task = {"image": "registry.test/llm:1", "resources": {"gpus": 2, "cpu": "4"}, "array": array, **task}
    return JobCreate.model_validate({"name": "score", "tasks": [task]})


def pointers(spec: JobCreate) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        check(spec, ("normal",))
    return {error["pointer"]: error["detail"] for error in refused.value.extras["errors"]}


def test_takes_an_array() -> None:
    spec = array_job({"size": 30, "parallelism": 4})
    check(spec, ("normal",))
    assert (gang.min_available(spec), gang.is_independent(spec)) == (1, True)
    assert list(gang.indices(spec.tasks[0])) == list(range(30))


@pytest.mark.parametrize(
    ("array", "gpus"),
    [
        ({"size": 30, "parallelism": 4}, 8),
        ({"size": 3, "parallelism": 4}, 6),
        ({"size": 30}, 60),
        ({"size": 30, "parallelism": 4, "indices": [7]}, 2),
    ],
)
def test_an_array_is_charged_for_what_it_has_at_the_same_time(array: dict[str, Any], gpus: int) -> None:
    spec = array_job(array)
    assert charges.of_job(spec) == {"nvidia.com/gpu": gpus}
    assert charges.compute_of_job(spec)["cpu"] == gpus * 2


@pytest.mark.parametrize(
    ("pointer", "array", "task"),
    [
        ("/tasks/0/replicas", {"size": 3}, {"replicas": 4}),
        ("/tasks/0/array/indices/1", {"size": 3, "indices": [0, 3]}, {}),
        ("/tasks/0/array/indices/1", {"size": 3, "indices": [2, 2]}, {}),
        ("/tasks/0/min_available", {"size": 3}, {"min_available": 1}),
        ("/tasks/0/env/PUMICE_INDEX", {"size": 3}, {"env": {"PUMICE_INDEX": "1"}}),
        (
            "/tasks/0/secret_env/VC_TASK_INDEX",
            {"size": 3},
            {"secret_env": {"VC_TASK_INDEX": {"secret": "s", "key": "k"}}},
        ),
    ],
)
def test_refuses_what_contradicts_an_array(pointer: str, array: dict[str, Any], task: dict[str, Any]) -> None:
    assert set(pointers(array_job(array, **task))) == {pointer}


def test_a_gang_that_never_is_together_is_refused() -> None:
    spec = JobCreate.model_validate({**array_job({"size": 9, "parallelism": 2}).model_dump(), "min_available": 3})
    assert "have 2" in pointers(spec)["/min_available"]


@pytest.mark.parametrize(
    ("job", "independent"),
    [
        ({}, False),
        ({"min_available": 4}, False),
        ({"min_available": 3}, True),
        ({"min_success": 4}, True),
        ({"task": {"min_available": 2}}, True),
        ({"tasks": [{"replicas": 1}, {"name": "after", "depends_on": ["worker"]}]}, False),
    ],
)
def test_pods_are_independent_when_some_of_them_suffice(spec: Any, job: dict[str, Any], independent: bool) -> None:
    if "tasks" not in job:
        job = {**job, "task": {"replicas": 4, **job.get("task", {})}}
    assert gang.is_independent(spec(**job)) is independent


@pytest.mark.parametrize(
    ("pointer", "rules"),
    [
        ("/retries/on/0", [{"action": "restart_job"}]),
        ("/retries/on/1/causes/0", [{"causes": ["OOMKilled"], "action": "fail"}] * 2),
    ],
)
def test_refuses_rules_that_say_nothing_or_twice(spec: Any, pointer: str, rules: list[dict[str, Any]]) -> None:
    assert set(pointers(spec(retries={"max": 1, "on": rules}))) == {pointer}
