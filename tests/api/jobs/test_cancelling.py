import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, update

from app.db import Sessions, now
from app.jobs.states import TERMINAL, JobState
from app.jobs.transitions import jobs


async def put(sessions: Sessions, job_id: str, **facts: Any) -> None:
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == UUID(job_id)).values(**facts))


async def events(nlp: Any, job_id: str) -> list[str]:
    answer = await nlp.client.get(f"/v1/jobs/{job_id}/events")
    return [event["type"] for event in answer.json()["items"]]


async def test_a_held_job_is_cancelled_at_once(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(body())
    answer = await nlp.client.post(f"/v1/jobs/{job['id']}/cancel", json={"reason": "wrong input"})
    cancelled = answer.json()
    assert answer.status_code == 202
    assert (cancelled["state"], cancelled["cancel_reason"]) == ("cancelled", "wrong input")
    assert cancelled["ended_at"] is not None
    assert await events(nlp, job["id"]) == ["accepted", "cancel"]
    assert await nlp.used() == 0


@pytest.mark.parametrize("state", [JobState.SUBMITTING, JobState.PENDING, JobState.RUNNING])
async def test_a_job_in_the_cluster_is_cancelling(nlp: Any, body: Any, sessions: Sessions, state: JobState) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=state, k8s_uid="uid-1")
    for _ in range(3):
        answer = await nlp.cancel(job["id"])
        assert (answer.status_code, answer.json()["state"]) == (202, "cancelling")
    assert await events(nlp, job["id"]) == ["accepted", "cancel"]
    assert await nlp.used() == 1  # until the last pod is gone


async def test_the_name_of_a_job_that_is_being_cancelled_is_soon_free(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=JobState.RUNNING, k8s_uid="uid-1")
    live = await nlp.submit(body())
    assert "Retry-After" not in live.headers
    await nlp.cancel(job["id"])
    answer = await nlp.submit(body())
    assert (answer.status_code, answer.json()["type"]) == (409, "name-in-use")
    assert int(answer.headers["Retry-After"]) > 0
    assert (
        answer.json()["detail"] == f"The job {job['id']} of this name is being cancelled; try again when it has ended."
    )


async def test_the_work_list_waits_for_a_create_call_under_way(nlp: Any, body: Any, sessions: Sessions) -> None:
    free, locked = await nlp.accepted(body(name="free")), await nlp.accepted(body(name="locked"))
    await put(sessions, free["id"], state=JobState.SUBMITTING)
    expires = now()
    await put(
        sessions, locked["id"], state=JobState.SUBMITTING, lock_token=uuid4(), lock_expires_at=expires, due_at=expires
    )
    for job in (free, locked):
        assert (await nlp.cancel(job["id"])).status_code == 202
    async with sessions() as session:
        rows = (await session.execute(jobs.select())).mappings().all()
    due = {row["name"]: row["due_at"] for row in rows}
    assert due["locked"] == expires
    assert due["free"] >= expires


async def test_twenty_at_once_are_one(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=JobState.RUNNING, k8s_uid="uid-1")
    answers = await asyncio.gather(*(nlp.cancel(job["id"]) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert await events(nlp, job["id"]) == ["accepted", "cancel"]


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_what_has_ended_stays_as_it_is(nlp: Any, body: Any, sessions: Sessions, state: JobState) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=state, ended_at=func.now())
    before = (await nlp.client.get(f"/v1/jobs/{job['id']}")).json()
    answer = await nlp.cancel(job["id"])
    assert (answer.status_code, answer.json()["type"]) == (409, "job-finished")
    assert state in answer.json()["detail"]
    assert (await nlp.client.get(f"/v1/jobs/{job['id']}")).json() == before


async def test_who_may_cancel(nlp: Any, vision: Any, body: Any) -> None:
    job = await nlp.accepted(body())
    viewer = await nlp.api.member("nlp", "viewer")
    assert (await viewer.post(f"/v1/jobs/{job['id']}/cancel")).status_code == 403
    assert (await vision.cancel(job["id"])).status_code == 404
    assert (await nlp.cancel(str(uuid4()))).status_code == 404
    assert (await nlp.cancel("x")).status_code == 404
    assert (await nlp.api.admin.post(f"/v1/jobs/{job['id']}/cancel")).status_code == 202


@pytest.mark.parametrize("wrong", [{"why": "x"}, {"reason": 1}, {"reason": "x" * 1001}])
async def test_refuses_wrong_bodies(nlp: Any, body: Any, wrong: dict[str, Any]) -> None:
    job = await nlp.accepted(body())
    answer = await nlp.client.post(f"/v1/jobs/{job['id']}/cancel", json=wrong)
    assert answer.status_code == 422
    assert (await nlp.client.get(f"/v1/jobs/{job['id']}")).json()["state"] == "held"
