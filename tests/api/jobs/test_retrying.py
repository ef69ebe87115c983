"""Running a job again that has ended: a new job, accepted as any other."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, update

from app.db import Sessions
from app.jobs.transitions import jobs


async def retry(member: Any, job_id: str, **headers: str) -> Any:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return await member.client.post(f"/v1/jobs/{job_id}/retry", headers=sent)


async def cancelled(member: Any, body: dict[str, Any]) -> dict[str, Any]:
    """A job that has ended: a held one is cancelled at once."""
    job: dict[str, Any] = await member.accepted(body)
    assert (await member.cancel(job["id"])).json()["state"] == "cancelled"
    return job


async def test_a_retry_is_a_new_job_like_the_old_one(nlp: Any, body: Any) -> None:
    old = await cancelled(
        nlp,
        body(
            name="score",
            gpus=2,
            labels={"a": "b"},
            priority="high",
            task={"env": {"KEY": "value"}},
            retries={"max": 1},
            run_timeout_seconds=60,
        ),
    )
    ended = (await nlp.client.get(f"/v1/jobs/{old['id']}")).json()
    answer = await retry(nlp, old["id"])
    assert answer.status_code == 202, answer.text
    new = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{new['id']}"
    assert await nlp.reread(new) == new
    assert (new["retry_of"], old["retry_of"]) == (old["id"], None)
    own = {"id", "k8s_name", "created_at", "state_since", "retry_of"}
    assert {k: v for k, v in new.items() if k not in own} == {k: v for k, v in old.items() if k not in own}
    assert new["k8s_name"] != old["k8s_name"]  # pods of the old one may still be there
    assert (await nlp.client.get(f"/v1/jobs/{old['id']}")).json() == ended
    assert await nlp.used() == 2
    manifest = (await nlp.client.get(f"/v1/jobs/{new['id']}/manifest")).json()
    assert manifest["metadata"]["labels"]["a"] == "b"


async def test_values_of_variables_are_the_real_ones(nlp: Any, body: Any, sessions: Sessions) -> None:
    old = await cancelled(nlp, body(task={"env": {"KEY": "value"}}))
    new = (await retry(nlp, old["id"])).json()
    assert new["spec"]["tasks"][0]["env"] == {"KEY": "***"}
    async with sessions() as session:
        stored = (await session.execute(jobs.select().where(jobs.c.id == new["id"]))).one()
    assert stored.spec["tasks"][0]["env"] == {"KEY": "value"}


@pytest.mark.parametrize("state", ["held", "submitting", "pending", "running", "suspending", "suspended", "cancelling"])
async def test_a_job_that_has_not_ended_cannot_be_retried(nlp: Any, body: Any, sessions: Sessions, state: str) -> None:
    job = await nlp.accepted(body())
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == job["id"]).values(state=state))
    answer = await retry(nlp, job["id"])
    assert (answer.status_code, answer.json()["type"], answer.json()["state"]) == (409, "job-not-finished", state)
    assert len(await nlp.listed()) == 1


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "lost"])
async def test_every_end_can_be_retried(nlp: Any, body: Any, sessions: Sessions, state: str) -> None:
    job = await cancelled(nlp, body())
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == job["id"]).values(state=state))
    assert (await retry(nlp, job["id"])).status_code == 202


async def test_one_key_makes_one_retry(nlp: Any, body: Any) -> None:
    old, other = await cancelled(nlp, body(name="a")), await cancelled(nlp, body(name="b"))
    first = await retry(nlp, old["id"], Idempotency_Key="k1")
    again = await retry(nlp, old["id"], Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["id"] == first.json()["id"]
    for answer in (
        await retry(nlp, other["id"], Idempotency_Key="k1"),
        await nlp.submit(body(name="a"), Idempotency_Key="k1"),
    ):
        assert (answer.status_code, answer.json()["type"]) == (422, "idempotency-key-reused")


async def test_retries_at_once_are_one_live_job(nlp: Any, body: Any) -> None:
    old = await cancelled(nlp, body())
    answers = await asyncio.gather(*(retry(nlp, old["id"]) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409, 409]
    assert {answer.json()["type"] for answer in answers if answer.status_code == 409} == {"name-in-use"}


async def test_a_retry_of_a_retry_names_the_one_before(nlp: Any, body: Any) -> None:
    first = await cancelled(nlp, body())
    second = (await retry(nlp, first["id"])).json()
    await nlp.cancel(second["id"])
    third = (await retry(nlp, second["id"])).json()
    assert third["retry_of"] == second["id"]
    assert len({job["k8s_name"] for job in (first, second, third)}) == 3


async def test_a_retry_needs_room_in_the_quota(nlp: Any, body: Any) -> None:
    old = await cancelled(nlp, body(name="old", gpus=4))
    await nlp.accepted(body(name="other", gpus=6))
    answer = await retry(nlp, old["id"])
    assert (answer.status_code, answer.json()["type"]) == (409, "quota-exceeded")
    assert await nlp.used() == 6


async def test_a_job_that_had_begun_does_not_wait_again(nlp: Any, body: Any, sessions: Sessions) -> None:
    parent = await nlp.accepted(body(name="parent"))
    child = await cancelled(nlp, body(name="child", after=[{"job": parent["id"]}]))
    waits = (await retry(nlp, child["id"])).json()
    assert [one["job"] for one in waits["spec"]["after"]] == [parent["id"]]
    await nlp.cancel(waits["id"])
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == waits["id"]).values(submitted_at=func.now()))
    begins = (await retry(nlp, waits["id"])).json()
    assert (begins["spec"]["after"], begins["reason"]) == ([], "WaitingForRelease")


async def test_who_may_retry_what(nlp: Any, vision: Any, body: Any) -> None:
    old = await cancelled(nlp, body())
    viewer = await nlp.api.member("nlp", "viewer")
    assert (await viewer.post(f"/v1/jobs/{old['id']}/retry")).status_code == 403
    assert (await retry(vision, old["id"])).status_code == 404
    assert (await retry(nlp, str(uuid4()))).status_code == 404
    by_admin = await nlp.api.admin.post(f"/v1/jobs/{old['id']}/retry")
    assert (by_admin.status_code, by_admin.json()["team"]) == (202, "nlp")
