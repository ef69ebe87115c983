"""Suspending and resuming, as callers see it; `tests/e2e/cluster/test_runs.py` has what becomes of it."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from app.db import Sessions, now
from app.jobs.states import TERMINAL, Desired, JobState
from tests.api.jobs.test_cancelling import events, put

IN_CLUSTER = [JobState.SUBMITTING, JobState.PENDING, JobState.RUNNING]


async def suspend(nlp: Any, job_id: str) -> Any:
    return await nlp.client.post(f"/v1/jobs/{job_id}/suspend")


async def resume(nlp: Any, job_id: str) -> Any:
    return await nlp.client.post(f"/v1/jobs/{job_id}/resume")


async def read(nlp: Any, job_id: str) -> Any:
    return (await nlp.client.get(f"/v1/jobs/{job_id}")).json()


async def test_a_held_job_is_suspended_at_once_and_gives_its_quota_back(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(body())
    answer = await suspend(nlp, job["id"])
    assert (answer.status_code, answer.json()["state"]) == (202, "suspended")
    assert answer.json()["reason"] == "SuspendedByUser"
    assert await nlp.used() == 0
    await suspend(nlp, job["id"])
    assert await events(nlp, job["id"]) == ["accepted", "suspend"]


@pytest.mark.parametrize("state", IN_CLUSTER)
async def test_a_job_in_the_cluster_is_suspending_and_keeps_its_quota(
    nlp: Any, body: Any, sessions: Sessions, state: JobState
) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=state, k8s_uid="uid-1")
    for _ in range(3):
        answer = await suspend(nlp, job["id"])
        assert (answer.status_code, answer.json()["state"]) == (202, "suspending")
    assert await events(nlp, job["id"]) == ["accepted", "suspend"]
    assert await nlp.used() == 1


async def test_a_resumed_job_waits_for_quota_and_counts_its_resumes(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(body(queue_timeout_seconds=60))
    await suspend(nlp, job["id"])
    answer = await resume(nlp, job["id"])
    assert (answer.status_code, answer.json()["state"], answer.json()["reason"]) == (202, "held", "QuotaExceeded")
    assert await events(nlp, job["id"]) == ["accepted", "suspend", "resume"]
    assert await nlp.used() == 0  # until the controller has let it in


@pytest.mark.parametrize("state", [JobState.HELD, *IN_CLUSTER])
async def test_resuming_what_is_not_suspended_changes_nothing(
    nlp: Any, body: Any, sessions: Sessions, state: JobState
) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=state)
    answer = await resume(nlp, job["id"])
    assert (answer.status_code, answer.json()["state"]) == (202, state)
    assert await events(nlp, job["id"]) == ["accepted"]


async def test_a_job_that_is_still_being_suspended_can_be_resumed_and_suspended_again(
    nlp: Any, body: Any, sessions: Sessions
) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=JobState.SUSPENDING, desired=Desired.SUSPEND, k8s_uid="uid-1")
    assert (await resume(nlp, job["id"])).json()["state"] == "suspending"
    assert (await suspend(nlp, job["id"])).json()["state"] == "suspending"
    assert await events(nlp, job["id"]) == ["accepted", "resume", "suspend"]


@pytest.mark.parametrize("call", [suspend, resume])
@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_what_has_ended_stays_ended(
    nlp: Any, body: Any, sessions: Sessions, state: JobState, call: Any
) -> None:  # C-07
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=state, ended_at=now(), charged=False)
    answer = await call(nlp, job["id"])
    assert (answer.status_code, answer.json()["type"], answer.json()["state"]) == (409, "job-finished", state)


@pytest.mark.parametrize("call", [suspend, resume])
async def test_what_is_being_cancelled_is_cancelled(nlp: Any, body: Any, sessions: Sessions, call: Any) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=JobState.CANCELLING, desired=Desired.CANCEL, k8s_uid="uid-1")
    answer = await call(nlp, job["id"])
    assert (answer.status_code, answer.json()["type"]) == (409, "conflict")
    assert answer.json()["detail"] == "The job is being cancelled."


@pytest.mark.parametrize(
    ("state", "cancelled"), [(JobState.SUSPENDED, "cancelled"), (JobState.SUSPENDING, "cancelling")]
)
async def test_a_suspended_job_can_be_cancelled(
    nlp: Any, body: Any, sessions: Sessions, state: JobState, cancelled: str
) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=state, desired=Desired.SUSPEND, k8s_uid="uid-1")
    answer = await nlp.cancel(job["id"])
    assert (answer.status_code, answer.json()["state"]) == (202, cancelled)


@pytest.mark.parametrize("call", [suspend, resume])
async def test_nobody_suspends_what_is_not_theirs(nlp: Any, vision: Any, body: Any, call: Any) -> None:
    job = await nlp.accepted(body())
    assert (await call(vision, job["id"])).status_code == 404
    assert (await call(nlp, str(uuid4()))).status_code == 404


async def test_twenty_at_once_are_one(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(body())
    await put(sessions, job["id"], state=JobState.RUNNING, k8s_uid="uid-1")
    answers = await asyncio.gather(*(suspend(nlp, job["id"]) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert await events(nlp, job["id"]) == ["accepted", "suspend"]
