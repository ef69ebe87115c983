"""PATCH of a job's priority and labels: what is taken, what is refused, what is kept and told."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select, update

from app.db import Sessions
from app.jobs.transitions import jobs


async def change(member: Any, job_id: str, body: Any) -> Any:
    return await member.client.patch(f"/v1/jobs/{job_id}", json=body)


async def changed(member: Any, job_id: str, body: Any) -> dict[str, Any]:
    answer = await change(member, job_id, body)
    assert answer.status_code == 200, answer.text
    job: dict[str, Any] = answer.json()
    assert job == await member.reread(job)
    return job


async def events(member: Any, job_id: str) -> list[tuple[str, str | None]]:
    items = (await member.client.get(f"/v1/jobs/{job_id}/events")).json()["items"]
    return [(event["type"], event["message"]) for event in items][1:]


async def column(sessions: Sessions, job_id: str, name: str) -> Any:
    async with sessions() as session:
        return (await session.execute(select(jobs.c[name]).where(jobs.c.id == UUID(job_id)))).scalar_one()


async def pretend(sessions: Sessions, job_id: str, **values: Any) -> None:
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == UUID(job_id)).values(values))


async def test_labels_are_merged_and_null_takes_one_off(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(body(labels={"keep": "1", "change": "1", "drop": "1"}))
    answered = await changed(nlp, job["id"], {"labels": {"change": "2", "drop": None, "new": "3", "absent": None}})
    assert answered["labels"] == answered["spec"]["labels"] == {"keep": "1", "change": "2", "new": "3"}
    unchanged = {key for key in job if key not in {"labels", "spec"}}
    assert {key: answered[key] for key in unchanged} == {key: job[key] for key in unchanged}
    assert await events(nlp, job["id"]) == [("changed", "Changed: label change, label new. Taken off: label drop")]
    assert [found["id"] for found in await nlp.listed(label="new=3")] == [job["id"]]
    assert await nlp.listed(label="drop=1") == []


async def test_a_new_priority_is_a_new_place_among_those_that_wait(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(body(priority="low"))
    answered = await changed(nlp, job["id"], {"priority": "high"})
    assert (answered["priority"], answered["spec"]["priority"]) == ("high", "high")
    assert await column(sessions, job["id"], "priority_rank") == 2
    assert await column(sessions, job["id"], "alignment_due") is False
    assert await events(nlp, job["id"]) == [("changed", "Changed: priority")]


@pytest.mark.parametrize("nothing", [{}, {"labels": {}}, {"priority": "normal"}, {"labels": {"a": "b", "c": None}}])
async def test_what_is_the_same_is_no_change(nlp: Any, body: Any, nothing: dict[str, Any]) -> None:
    job = await nlp.accepted(body(labels={"a": "b"}))
    assert await changed(nlp, job["id"], nothing) == job
    assert await events(nlp, job["id"]) == []


@pytest.mark.parametrize(
    ("wrong", "pointer", "code"),
    [
        ({"priority": "urgent"}, "/priority", "unknown-priority"),
        ({"priority": None}, "/priority", "null"),
        ({"labels": None}, "/labels", "null"),
        ({"labels": {"pumice.dev/job-id": "x"}}, "/labels/pumice.dev~1job-id", "label"),
        ({"labels": {"volcano.sh/job-name": None}}, "/labels/volcano.sh~1job-name", "label"),
        ({"labels": {"a": "v" * 64}}, "/labels/a", "label"),
        ({"labels": {"not a key": "v"}}, "/labels/not a key", "label"),
        ({"labels": {"a": 1}}, "/labels/a", "string-type"),
        ({"name": "other"}, "/name", "extra-forbidden"),
        ({"labels": {f"key-{number:050}": "v" * 63 for number in range(5000)}}, "/labels", "manifest-too-large"),
    ],
)
async def test_refuses_what_a_submission_refuses(
    nlp: Any, body: Any, wrong: dict[str, Any], pointer: str, code: str
) -> None:
    job = await nlp.accepted(body(labels={"a": "b"}))
    answer = await change(nlp, job["id"], wrong)
    assert (answer.status_code, answer.json()["type"]) == (422, "validation-error"), answer.text
    assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]] == [(pointer, code)]
    assert await nlp.reread(job) == job


async def test_an_ended_job_is_not_changed(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(body())
    await nlp.cancel(job["id"])
    answer = await change(nlp, job["id"], {"priority": "high"})
    assert (answer.status_code, answer.json()["type"], answer.json()["state"]) == (409, "job-finished", "cancelled")


async def test_nor_is_one_that_is_being_cancelled(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(body())
    await pretend(sessions, job["id"], state="running")
    assert (await nlp.cancel(job["id"])).json()["state"] == "cancelling"
    answer = await change(nlp, job["id"], {"priority": "high"})
    assert (answer.status_code, answer.json()["type"]) == (409, "conflict")


async def test_only_the_teams_submitters_may(api: Any, nlp: Any, vision: Any, body: Any) -> None:
    job = await nlp.accepted(body())
    assert (await change(vision, job["id"], {"priority": "high"})).status_code == 404
    assert (await change(nlp, str(uuid4()), {"priority": "high"})).status_code == 404
    viewer = await api.member("nlp", "viewer")
    answer = await viewer.patch(f"/v1/jobs/{job['id']}", json={"priority": "high"})
    assert (answer.status_code, answer.json()["type"]) == (403, "forbidden")
    assert (await api.admin.patch(f"/v1/jobs/{job['id']}", json={"priority": "high"})).status_code == 200


async def test_a_job_that_was_sent_is_to_be_brought_in_line(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(body(labels={"a": "1", "b": "1"}))
    await pretend(sessions, job["id"], state="submitting", attempted_at=func.now())
    await changed(nlp, job["id"], {"labels": {"a": None, "c": "1"}})
    assert await column(sessions, job["id"], "alignment_due") is True
    assert await column(sessions, job["id"], "retired_labels") == ["a"]
    await changed(nlp, job["id"], {"labels": {"c": None, "a": "2"}})
    assert await column(sessions, job["id"], "retired_labels") == ["c"]


async def test_labels_taken_off_are_counted(nlp: Any, body: Any, sessions: Sessions) -> None:
    job = await nlp.accepted(body(labels={f"key-{number}": "" for number in range(1001)}))
    await pretend(sessions, job["id"], state="pending", attempted_at=func.now())
    answer = await change(nlp, job["id"], {"labels": {f"key-{number}": None for number in range(1001)}})
    assert [fault["code"] for fault in answer.json()["errors"]] == ["too-many"]


async def test_the_same_key_still_gives_the_same_job(nlp: Any, body: Any) -> None:
    wanted = body(priority="low")
    job = await nlp.accepted(wanted, Idempotency_Key="k1")
    await changed(nlp, job["id"], {"priority": "high"})
    again = await nlp.submit(wanted, Idempotency_Key="k1")
    assert (again.status_code, again.json()["id"], again.json()["priority"]) == (200, job["id"], "high")
