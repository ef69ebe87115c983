"""`after` over HTTP: what is taken, what is refused and where, what is shown, and bulk."""

from typing import Any
from uuid import uuid4

import pytest

from tests.api.jobs.test_bulk import bulk, statuses


def after(*parents: Any, **link: str) -> list[dict[str, Any]]:
    return [{"job": parent["id"] if isinstance(parent, dict) else parent, **link} for parent in parents]


async def faults(member: Any, body: dict[str, Any]) -> list[tuple[str, str]]:
    problem = await member.refused(body, 422, "validation-error")
    return [(fault["pointer"], fault["code"]) for fault in problem["errors"]]


async def test_a_job_waits_and_says_for_which(nlp: Any, body: Any) -> None:
    first, second = await nlp.accepted(body(name="first")), await nlp.accepted(body(name="second"))
    job = await nlp.accepted(body(name="third", after=after(first, second)))
    assert (job["state"], job["reason"]) == ("held", "WaitingForDependencies")
    assert job["message"] == f"The job waits for 2 jobs that have not ended; the first is first ({first['id']})."
    assert job["spec"]["after"] == [
        {"job": parent["id"], "condition": "succeeded", "otherwise": "fail"} for parent in (first, second)
    ]
    assert await nlp.used() == 3


async def test_unknown_jobs_are_refused_with_their_place(nlp: Any, vision: Any, body: Any) -> None:
    known = await nlp.accepted(body(name="known"))
    foreign = await vision.accepted(body(name="foreign"))
    wanted = after(known, str(uuid4()), foreign)
    assert await faults(nlp, body(name="a", after=wanted)) == [
        ("/after/1/job", "unknown-job"),
        ("/after/2/job", "unknown-job"),
    ]
    problem = (await nlp.submit(body(name="a", after=after(foreign)))).json()
    unknown = (await nlp.submit(body(name="a", after=after(str(uuid4()))))).json()
    assert problem["detail"] == unknown["detail"] == "/after/0/job: The team has no such job."


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ({"job": "not-an-id"}, ("/after/1/job", "uuid-parsing")),
        ({"job": 7}, ("/after/1/job", "uuid-type")),
        ({"job": None}, ("/after/1/job", "uuid-type")),
        ({}, ("/after/1/job", "missing")),
        ({"condition": "failed"}, ("/after/1/condition", "enum")),
        ({"otherwise": "retry"}, ("/after/1/otherwise", "enum")),
        ({"on_failure": "fail"}, ("/after/1/on_failure", "extra-forbidden")),
        ({"condition": "finished", "otherwise": "cancel"}, ("/after/1/otherwise", "no-meaning")),
    ],
)
async def test_a_link_that_means_nothing_is_refused(nlp: Any, body: Any, link: dict[str, Any], fault: Any) -> None:
    first, second = await nlp.accepted(body(name="first")), await nlp.accepted(body(name="second"))
    wanted = {"job": second["id"], **link}
    if not link:
        del wanted["job"]
    assert await faults(nlp, body(name="a", after=[*after(first), wanted])) == [fault]


async def test_a_job_stands_once(nlp: Any, body: Any) -> None:
    parent = await nlp.accepted(body(name="parent"))
    spelled = [parent["id"], parent["id"].upper()]
    assert await faults(nlp, body(name="a", after=after(*spelled))) == [("/after/1/job", "duplicate")]


async def test_a_hundred_jobs_at_the_most(nlp: Any, body: Any) -> None:
    assert await faults(nlp, body(name="a", after=after(*(str(uuid4()) for _ in range(101))))) == [
        ("/after", "too-long")
    ]


async def test_a_job_after_a_cancelled_one_ends_at_once(nlp: Any, body: Any) -> None:
    parent = await nlp.accepted(body(name="parent"))
    await nlp.cancel(parent["id"])
    for otherwise, state in (("fail", "failed"), ("cancel", "cancelled")):
        job = await nlp.accepted(body(name="child", after=after(parent, otherwise=otherwise)))
        assert (job["state"], job["reason"], job["ended_at"]) == (state, "DependencyFailed", job["created_at"])
        assert "ended as cancelled" in job["message"]
        answer = await nlp.client.get(f"/v1/jobs/{job['id']}/events")
        assert [(event["type"], event["state"]) for event in answer.json()["items"]] == [("accepted", state)]
    assert await nlp.used() == 0
    going = await nlp.accepted(body(name="child", after=after(parent, condition="finished")))
    assert (going["state"], going["reason"]) == ("held", "WaitingForRelease")


async def test_a_waiting_job_can_be_cancelled(nlp: Any, body: Any) -> None:
    parent = await nlp.accepted(body(name="parent"))
    child = await nlp.accepted(body(name="child", after=after(parent)))
    assert (await nlp.cancel(child["id"])).json()["state"] == "cancelled"
    assert await nlp.used() == 1


async def test_the_same_key_and_body_give_the_same_job_after_its_parent_has_ended(nlp: Any, body: Any) -> None:
    parent = await nlp.accepted(body(name="parent"))
    wanted = body(name="child", after=after(parent))
    child = await nlp.accepted(wanted, Idempotency_Key="k1")
    await nlp.cancel(parent["id"])
    again = await nlp.submit(wanted, Idempotency_Key="k1")
    assert (again.status_code, again.json()["id"]) == (200, child["id"])
    other = body(name="child", after=after(parent, otherwise="cancel"))
    assert (await nlp.submit(other, Idempotency_Key="k1")).json()["type"] == "idempotency-key-reused"


async def test_bulk_takes_and_refuses_each_by_itself(nlp: Any, body: Any) -> None:
    parent, gone = await nlp.accepted(body(name="parent")), await nlp.accepted(body(name="gone"))
    await nlp.cancel(gone["id"])
    made = await bulk(
        nlp,
        body(name="waits", after=after(parent)),
        body(name="unknown", after=after(parent, str(uuid4()))),
        body(name="twice", after=after(parent, parent)),
        body(name="over", after=after(gone)),
        body(name="over", after=after(gone, otherwise="cancel")),
        body(name="free", after=after(gone, condition="finished")),
    )
    assert statuses(made) == [201, 422, 422, 201, 201, 201]
    assert [(item["state"], item["reason"]) for item in made["items"]] == [
        ("held", "WaitingForDependencies"),
        (None, None),
        (None, None),
        ("failed", "DependencyFailed"),
        ("cancelled", "DependencyFailed"),
        ("held", "WaitingForRelease"),
    ]
    assert made["items"][1]["problem"]["errors"][0]["pointer"] == "/after/1/job"
    assert made["items"][2]["problem"]["errors"][0]["pointer"] == "/after/1/job"
    assert await nlp.used() == 3


async def test_a_resumed_job_waits_for_the_others_again(nlp: Any, body: Any) -> None:
    parent = await nlp.accepted(body(name="parent"))
    child = await nlp.accepted(body(name="child", after=after(parent), queue_timeout_seconds=60))
    suspended = (await nlp.client.post(f"/v1/jobs/{child['id']}/suspend")).json()
    assert (suspended["state"], suspended["reason"]) == ("suspended", "SuspendedByUser")
    resumed = (await nlp.client.post(f"/v1/jobs/{child['id']}/resume")).json()
    assert (resumed["state"], resumed["reason"]) == ("held", "WaitingForDependencies")
    assert resumed["message"] == "The job waits for a job that has not ended."


async def test_reading_a_job_shows_what_it_waits_for(nlp: Any, body: Any) -> None:
    first, second = await nlp.accepted(body(name="first")), await nlp.accepted(body(name="second"))
    wanted = [*after(first, condition="finished"), *after(second, otherwise="cancel")]
    job = await nlp.accepted(body(name="third", after=wanted))
    shown = {"condition": "finished", "otherwise": "fail", "state": "held", "met": None}
    other = {"condition": "succeeded", "otherwise": "cancel", "state": "held", "met": None}

    async def dependencies(member: Any = nlp) -> Any:
        return (await member.client.get(f"/v1/jobs/{job['id']}")).json()["dependencies"]

    assert await dependencies() == [
        {"job": first["id"], "name": "first", **shown},
        {"job": second["id"], "name": "second", **other},
    ]
    for parent in (first, second):
        await nlp.cancel(parent["id"])
    assert [(link["state"], link["met"]) for link in await dependencies()] == [
        ("cancelled", True),
        ("cancelled", False),
    ]
    assert (await nlp.client.get(f"/v1/jobs/{first['id']}")).json()["dependencies"] == []
