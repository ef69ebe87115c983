"""Arrays, and what becomes of their indices."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert

from app.db import Sessions, now
from app.jobs.states import JobState
from app.jobs.store import job_pods
from tests.api.jobs.test_cancelling import put


def array_body(body: Any, array: dict[str, Any], **job: Any) -> Any:
    made = body(task={"array": array}, **job)
    del made["tasks"][0]["replicas"]
    return made


async def pod(sessions: Sessions, job: Any, index: int, phase: str, age: int = 10, **facts: Any) -> None:
    uid = f"{job['id']}-{index}-{age}"
    at = now() - timedelta(seconds=age)
    values = {
        "uid": uid,
        "job_id": UUID(job["id"]),
        "name": f"pod-{index}",
        "attempt": 1,
        "task": "worker",
        "index": index,
        "phase": phase,
        "restarts": 0,
        "resources": {},
        "created_at": at,
    }
    async with sessions.begin() as session:
        await session.execute(insert(job_pods).values(**{**values, **facts}))


async def indices(nlp: Any, job: Any, **query: Any) -> Any:
    answer = await nlp.client.get(f"/v1/jobs/{job['id']}/indices", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def states(nlp: Any, job: Any, **query: Any) -> list[tuple[int, str]]:
    return [(item["index"], item["state"]) for item in (await indices(nlp, job, **query))["items"]]


async def test_an_array_is_accepted_and_charged_for_what_runs_at_a_time(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(array_body(body, {"size": 300, "parallelism": 2}))
    assert job["resources"] == {"nvidia.com/gpu": "2"}
    assert job["spec"]["tasks"][0]["replicas"] == 300
    assert job["spec"]["min_available"] == 1
    assert await nlp.used() == 2


async def test_an_array_that_takes_more_at_a_time_than_the_quota_never_fits(nlp: Any, body: Any) -> None:
    problem = await nlp.refused(array_body(body, {"size": 300, "parallelism": 9}), 422, "job-never-fits")
    assert (problem["limit"], problem["requested"]) == (8, 9)


async def test_each_index_has_a_state(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(array_body(body, {"size": 6, "parallelism": 2}))
    assert await states(nlp, job) == [(index, "pending") for index in range(6)]
    await pod(sessions, job, 0, "Succeeded", exit_code=0)
    await pod(sessions, job, 1, "Failed", age=20, exit_code=3, gone_at=now())
    await pod(sessions, job, 1, "Running", age=5, node="gpu-1", attempt=2)
    await pod(sessions, job, 2, "Failed", exit_code=3, reason="Error")
    await pod(sessions, job, 3, "Failed", reason="Killed")
    await pod(sessions, job, 4, "Running", gone_at=now())
    wanted = ["succeeded", "running", "failed", "pending", "pending", "pending"]
    assert [state for _, state in await states(nlp, job)] == wanted
    items = (await indices(nlp, job))["items"]
    assert (items[1]["attempts"], items[1]["node"], items[1]["exit_code"]) == (2, "gpu-1", None)
    assert (items[2]["attempts"], items[2]["reason"], items[2]["exit_code"]) == (1, "Error", 3)
    assert await states(nlp, job, state=["failed", "succeeded"]) == [(0, "succeeded"), (2, "failed")]
    await put(sessions, job["id"], state=JobState.CANCELLED, ended_at=now(), charged=False)
    assert [state for _, state in await states(nlp, job)] == ["succeeded", "stopped", "failed", *["stopped"] * 3]


async def test_an_index_that_succeeded_stays_so(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(array_body(body, {"size": 2}))
    await pod(sessions, job, 0, "Succeeded", age=20)
    await pod(sessions, job, 0, "Failed", age=5, reason="Killed")
    assert (await states(nlp, job))[0] == (0, "succeeded")


async def test_pages_of_indices_follow_their_places(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(array_body(body, {"size": 900, "parallelism": 1, "indices": [*range(0, 900, 100)]}))
    found: list[int] = []
    cursor: str | None = None
    while True:
        query = {"limit": 4, **({"cursor": cursor} if cursor else {})}
        page = await indices(nlp, job, **query)
        found += [item["index"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == list(range(0, 900, 100))


@pytest.mark.parametrize("query", [{"state": "lost"}, {"cursor": "!"}, {"task": "x"}])
async def test_odd_questions_about_indices_are_refused(nlp: Any, body: Any, query: Any) -> None:
    job = await nlp.accepted(array_body(body, {"size": 2}))
    answer = await nlp.client.get(f"/v1/jobs/{job['id']}/indices", params=query)
    assert answer.status_code == (400 if "cursor" in query else 422)


async def test_nobody_reads_the_indices_of_another_team(nlp: Any, vision: Any, body: Any) -> None:
    job = await nlp.accepted(array_body(body, {"size": 2}))
    assert (await vision.client.get(f"/v1/jobs/{job['id']}/indices")).status_code == 404


async def test_the_full_body_of_the_documents_is_taken(nlp: Any, api: Any) -> None:
    """The example of the project's description of its API, with a queue and a quota that fit it."""
    full = {
        "name": "bulk-score",
        "priority": "normal",
        "labels": {"dataset": "d1"},
        "annotations": {},
        "tasks": [
            {
                "name": "worker",
                "replicas": 4,
                "image": "registry.test/llm:1",
                "command": ["python", "infer.py"],
                "args": [],
                "env": {"MODEL": "m"},
                "secret_env": {"HF_TOKEN": {"secret": "hf", "key": "token"}},
                "resources": {"cpu": "4", "memory": "16Gi", "gpus": 1, "gpu_resource": "nvidia.com/gpu"},
                "node_selector": {},
                "tolerations": [],
                "volumes": [{"claim": "models", "path": "/models", "read_only": True}],
                "min_available": 4,
                "depends_on": [],
            }
        ],
        "min_available": 4,
        "min_success": None,
        "retries": {"max": 0, "on": [{"exit_codes": [137], "action": "restart_task"}]},
        "run_timeout_seconds": 86400,
        "queue_timeout_seconds": None,
    }
    job = await nlp.accepted(full)
    assert job["spec"]["run_timeout_seconds"] == 86400


async def test_a_retry_runs_only_the_indices_that_have_not_succeeded(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(array_body(body, {"size": 4, "parallelism": 2}))
    await pod(sessions, job, 0, "Succeeded")
    await pod(sessions, job, 1, "Failed", exit_code=3)
    await pod(sessions, job, 3, "Succeeded")
    await nlp.cancel(job["id"])
    answer = await nlp.client.post(f"/v1/jobs/{job['id']}/retry")
    assert answer.status_code == 202, answer.text
    again = answer.json()
    assert (again["retry_of"], again["spec"]["tasks"][0]["array"]["indices"]) == (job["id"], [1, 2])
    assert await states(nlp, again) == [(1, "pending"), (2, "pending")]
