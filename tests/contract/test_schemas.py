"""What the schemas of Volcano's CRDs refuse and default; the words are those recorded in trace 21."""

from typing import Any

import pytest

NAME_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}


def task(**fields: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/llm:1"}
    return {"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}, **fields}


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"tasks": [task(name="Bad_Name")]},
            "spec.tasks[0].name",
            f"Invalid value: \"Bad_Name\": spec.tasks[0].name in body should match '{NAME_PATTERN}'",
        ),
        ({"tasks": []}, "spec.tasks", "Invalid value: 0: spec.tasks in body should have at least 1 items"),
        (
            {"tasks": [task()], "maxRetry": -1},
            "spec.maxRetry",
            "Invalid value: -1: spec.maxRetry in body should be greater than or equal to 0",
        ),
        (
            {"tasks": [task()], "ttlSecondsAfterFinished": -1},
            "spec.ttlSecondsAfterFinished",
            "Invalid value: -1: spec.ttlSecondsAfterFinished in body should be greater than or equal to 0",
        ),
    ],
)
async def test_a_job_that_breaks_the_schema(
    api: Any, jobs: str, spec: dict[str, Any], field: str, message: str
) -> None:
    status, answer = await api.post(jobs, {**JOB, "metadata": {"name": "b5"}, "spec": spec}, dryRun="All")
    assert status == 422
    assert answer["message"] == f'Job.batch.volcano.sh "b5" is invalid: {field}: {message}'
    assert answer["details"] == {
        "name": "b5",
        "group": "batch.volcano.sh",
        "kind": "Job",
        "causes": [{"reason": "FieldValueInvalid", "message": message, "field": field}],
    }


async def test_a_queue_with_a_negative_weight(api: Any) -> None:
    queue = {**QUEUE, "metadata": {"name": "z2"}, "spec": {"weight": -1}}
    status, answer = await api.post("/apis/scheduling.volcano.sh/v1beta1/queues", queue, dryRun="All")
    assert status == 422
    expected = "spec.weight: Invalid value: -1: spec.weight in body should be greater than or equal to 1"
    assert answer["message"] == f'Queue.scheduling.volcano.sh "z2" is invalid: {expected}'


async def test_the_defaults_of_a_job(api: Any, jobs: str) -> None:
    _, created = await api.post(jobs, {**JOB, "metadata": {"name": "a"}, "spec": {"tasks": [task()]}})
    assert created["spec"]["queue"] == "default"
    assert created["spec"]["maxRetry"] == 3


async def test_the_default_weight_of_a_queue(api: Any) -> None:
    queue = {**QUEUE, "metadata": {"name": "default-weight"}, "spec": {}}
    _, created = await api.post("/apis/scheduling.volcano.sh/v1beta1/queues", queue, dryRun="All")
    assert created["spec"]["weight"] == 1


async def test_a_wrong_type(api: Any, jobs: str) -> None:
    job = {**JOB, "metadata": {"name": "a"}, "spec": {"tasks": [task()], "maxRetry": "three"}}
    status, answer = await api.post(jobs, job, dryRun="All")
    assert status == 422
    assert "spec.maxRetry in body must be of type integer" in answer["message"]


async def test_an_unknown_event_of_a_policy(api: Any, jobs: str) -> None:
    policies = [{"event": "Nothing", "action": "AbortJob"}]
    job = {**JOB, "metadata": {"name": "a"}, "spec": {"tasks": [task()], "policies": policies}}
    status, answer = await api.post(jobs, job, dryRun="All")
    assert status == 422
    assert answer["details"]["causes"][0]["field"] == "spec.policies[0].event"


@pytest.mark.parametrize(("given", "stored"), [(None, None), (2.0, 2)])
async def test_a_null_is_absent_and_a_whole_float_an_integer(api: Any, jobs: str, given: Any, stored: Any) -> None:
    job = {**JOB, "metadata": {"name": "a"}, "spec": {"tasks": [task()], "minAvailable": given}}
    status, created = await api.post(jobs, job, dryRun="All")
    assert status == 201
    assert created["spec"].get("minAvailable") == stored
    assert isinstance(created["spec"].get("minAvailable"), int | None)


@pytest.mark.parametrize("count", [1.5, 3_000_000_000, True])
async def test_a_number_that_is_no_int32(api: Any, jobs: str, count: Any) -> None:
    job = {**JOB, "metadata": {"name": "a"}, "spec": {"tasks": [task()], "minAvailable": count}}
    status, answer = await api.post(jobs, job, dryRun="All")
    assert (status, answer["reason"]) == (422, "Invalid")
    assert "int32" in answer["message"]


@pytest.mark.parametrize("body", [{}, {"spec": None}])
async def test_a_job_without_a_spec_gets_none(api: Any, jobs: str, body: dict[str, Any]) -> None:
    status, created = await api.post(jobs, {**JOB, "metadata": {"name": "a"}, **body})
    assert status == 201
    assert "spec" not in created
