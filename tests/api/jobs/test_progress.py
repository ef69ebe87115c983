"""Workers that say over HTTP how far they are."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from app.db import Sessions, table
from app.jobs.models import JobPodRow

AT = datetime(2030, 1, 1, tzinfo=UTC)
SAID = {"task": "worker", "index": 1, "done": 3, "total": 10}


@pytest.fixture
async def job(nlp: Any, body: Any, sessions: Sessions) -> dict[str, Any]:
    """A job of two pods that run; the second one runs for the second time."""
    job: dict[str, Any] = await nlp.accepted(body(task={"replicas": 2}))
    async with sessions.begin() as session:
        for attempt, index in ((1, 0), (1, 1), (2, 1)):
            session.add(_pod(job["id"], attempt, index))
    return job


def _pod(job_id: str, attempt: int, index: int, phase: str = "Running") -> JobPodRow:
    return JobPodRow(
        uid=f"{job_id}-{attempt}-{index}",
        job_id=UUID(job_id),
        name=f"a-worker-{index}",
        attempt=attempt,
        task="worker",
        index=index,
        phase=phase,
        created_at=AT + timedelta(seconds=attempt),
    )


async def put(member: Any, job: dict[str, Any], **changes: Any) -> Any:
    return await member.client.put(f"/v1/jobs/{job['id']}/progress", json={**SAID, **changes})


async def of_pods(member: Any, job: dict[str, Any]) -> list[Any]:
    answer = await member.client.get(f"/v1/jobs/{job['id']}/pods")
    return [(pod["attempt"], pod["index"], pod["progress"]) for pod in answer.json()["items"]]


async def test_a_new_job_says_nothing_of_progress(nlp: Any, job: dict[str, Any]) -> None:
    assert job["progress"] is None
    assert await of_pods(nlp, job) == [(1, 0, None), (1, 1, None), (2, 1, None)]


async def test_the_newest_pod_of_the_index_says_it(nlp: Any, job: dict[str, Any]) -> None:
    answer = await put(nlp, job)
    assert (answer.status_code, answer.json()) == (200, {"done": 3, "total": 10})
    assert await of_pods(nlp, job) == [(1, 0, None), (1, 1, None), (2, 1, {"done": 3, "total": 10})]


async def test_the_last_word_counts_while_the_pod_runs(nlp: Any, job: dict[str, Any]) -> None:
    for done, total in ((3, 10), (3, 10), (1, 5), (10**12, 10**12)):
        answer = await put(nlp, job, done=done, total=total)
        assert (answer.status_code, answer.json()) == (200, {"done": done, "total": total})


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_pod_that_ended_does_not_fall_back(
    nlp: Any, job: dict[str, Any], sessions: Sessions, phase: str
) -> None:
    await put(nlp, job, done=7)
    pods = table(JobPodRow)
    async with sessions.begin() as session:
        await session.execute(update(pods).where(pods.c.job_id == UUID(job["id"])).values(phase=phase))
    assert (await put(nlp, job, done=5)).json() == {"done": 7, "total": 10}
    assert (await put(nlp, job, done=10)).json() == {"done": 10, "total": 10}
    assert (await put(nlp, job, index=0, done=2)).json() == {"done": 2, "total": 10}


@pytest.mark.parametrize(
    ("changes", "pointer", "code"),
    [
        ({"done": -1}, "/done", "greater-than-equal"),
        ({"total": 10**12 + 1}, "/total", "less-than-equal"),
        ({"done": 11}, "/done", "out-of-range"),
        ({"done": 1.5}, "/done", "int-type"),
        ({"done": "3"}, "/done", "int-type"),
        ({"done": True}, "/done", "int-type"),
        ({"total": None}, "/total", "int-type"),
        ({"index": 2}, "/index", "out-of-range"),
        ({"index": -1}, "/index", "out-of-range"),
        ({"task": "other"}, "/task", "unknown-task"),
        ({"task": "NOT A NAME"}, "/task", "name"),
        ({"percent": 30}, "/percent", "extra-forbidden"),
    ],
)
async def test_what_is_no_progress_is_refused(
    nlp: Any, job: dict[str, Any], changes: dict[str, Any], pointer: str, code: str
) -> None:
    answer = await put(nlp, job, **changes)
    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert (fault["pointer"], fault["code"]) == (pointer, code)
    assert await of_pods(nlp, job) == [(1, 0, None), (1, 1, None), (2, 1, None)]


@pytest.mark.parametrize("missing", list(SAID))
async def test_every_field_is_needed(nlp: Any, job: dict[str, Any], missing: str) -> None:
    said = {name: value for name, value in SAID.items() if name != missing}
    answer = await nlp.client.put(f"/v1/jobs/{job['id']}/progress", json=said)
    assert answer.status_code == 422
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [f"/{missing}"]


async def test_a_pod_that_nobody_saw_says_nothing(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(body())
    answer = await put(nlp, job, index=0)
    assert (answer.status_code, answer.json()["type"]) == (409, "conflict")


async def test_a_job_that_ended_stays_as_it_is(nlp: Any, job: dict[str, Any]) -> None:
    await put(nlp, job)
    await nlp.cancel(job["id"])
    answer = await put(nlp, job, done=10)
    assert (answer.status_code, answer.json()["type"]) == (409, "job-finished")
    assert await of_pods(nlp, job) == [(1, 0, None), (1, 1, None), (2, 1, {"done": 3, "total": 10})]


async def test_only_the_team_speaks_of_its_job(api: Any, nlp: Any, vision: Any, job: dict[str, Any]) -> None:
    assert (await put(vision, job)).status_code == 404
    assert (await nlp.client.put(f"/v1/jobs/{uuid4()}/progress", json=SAID)).status_code == 404
    viewer = await api.member("nlp", "viewer")
    assert (await viewer.put(f"/v1/jobs/{job['id']}/progress", json=SAID)).status_code == 403
    assert (await api.admin.put(f"/v1/jobs/{job['id']}/progress", json=SAID)).status_code == 200
    nobody = api.client(None)
    assert (await nobody.put(f"/v1/jobs/{job['id']}/progress", json=SAID)).status_code == 401


async def test_an_array_is_spoken_of_by_its_indices(nlp: Any, body: Any, sessions: Sessions) -> None:
    task = {"array": {"size": 9, "indices": [2, 8]}}
    asked = body(task=task)
    del asked["tasks"][0]["replicas"]
    job = await nlp.accepted(asked)
    async with sessions.begin() as session:
        session.add(_pod(job["id"], 1, 8))
    assert (await put(nlp, job, index=8)).status_code == 200
    assert (await put(nlp, job, index=9)).json()["errors"][0]["pointer"] == "/index"
