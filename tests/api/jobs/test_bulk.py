import random
from typing import Any

import pytest


async def bulk(member: Any, *jobs: dict[str, Any]) -> dict[str, Any]:
    answer = await member.client.post(f"/v1/teams/{member.team}/jobs/bulk", json={"jobs": list(jobs)})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    assert [item["index"] for item in made["items"]] == list(range(len(jobs)))
    assert made["accepted"] + made["replayed"] + made["refused"] == len(jobs)
    return made


def statuses(made: dict[str, Any]) -> list[int]:
    return [item["status"] for item in made["items"]]


def kinds(made: dict[str, Any]) -> list[str | None]:
    return [item["problem"] and item["problem"]["type"] for item in made["items"]]


async def test_accepts_each_as_if_it_came_alone(nlp: Any, body: Any) -> None:
    alone = await nlp.accepted(body(name="alone", labels={"a": "b"}))
    made = await bulk(nlp, body(name="together", labels={"a": "b"}))
    (item,) = made["items"]
    assert (item["status"], item["name"], item["state"], item["problem"]) == (201, "together", "held", None)
    read = (await nlp.client.get(f"/v1/jobs/{item['id']}")).json()
    own = {"id", "name", "k8s_name", "created_at", "state_since", "spec"}
    assert {k: read[k] for k in alone if k not in own} == {k: v for k, v in alone.items() if k not in own}
    assert read["spec"] == {**alone["spec"], "name": "together"}
    (event,) = (await nlp.client.get(f"/v1/jobs/{item['id']}/events")).json()["items"]
    assert (event["type"], event["state"], event["reason"]) == ("accepted", "held", "WaitingForRelease")


async def test_ids_sort_in_the_order_of_the_request(nlp: Any, body: Any) -> None:
    made = await bulk(nlp, *[body(name=f"j{number}", gpus=0) for number in range(50)])
    ids = [item["id"] for item in made["items"]]
    assert statuses(made) == [201] * 50
    assert ids == sorted(ids)


async def test_the_quota_is_decided_in_order(nlp: Any, body: Any) -> None:
    jobs = [body(name=name, gpus=gpus) for name, gpus in (("a", 5), ("b", 4), ("c", 3), ("d", 1))]
    made = await bulk(nlp, *jobs)  # of 8
    assert statuses(made) == [201, 409, 201, 409]
    problem = made["items"][1]["problem"]
    assert {key: problem[key] for key in ("type", "resource", "limit", "used", "requested")} == {
        "type": "quota-exceeded",
        "resource": "nvidia.com/gpu",
        "limit": 8,
        "used": 5,
        "requested": 4,
    }
    assert made["items"][3]["problem"]["used"] == 8
    assert await nlp.used() == 8


async def test_one_that_is_wrong_refuses_no_other(nlp: Any, body: Any) -> None:
    made = await bulk(
        nlp,
        body(name="a"),
        body(name="b", task={"replicas": 0}),
        {"name": "c"},
        body(name="d", gpus=0.5),
        body(name="e", queue="q-vision"),
        body(name="f", gpus=99),
        body(name="g"),
    )
    assert statuses(made) == [201, 422, 422, 422, 422, 422, 201]
    assert kinds(made)[1:6] == [
        "validation-error",
        "validation-error",
        "gpu-not-whole",
        "queue-not-granted",
        "job-never-fits",
    ]
    assert made["items"][1]["problem"]["errors"][0]["pointer"] == "/tasks/0/replicas"
    assert made["items"][2]["problem"]["errors"][0]["pointer"] == "/tasks"
    assert sorted(await nlp.names()) == ["a", "g"]


async def test_keys_are_the_same_as_those_of_single_submissions(nlp: Any, body: Any) -> None:
    alone = await nlp.accepted(body(name="a"), Idempotency_Key="k1")
    both = [{**body(name="a"), "idempotency_key": "k1"}, {**body(name="b"), "idempotency_key": "k2"}]
    first = await bulk(nlp, *both)
    assert statuses(first) == [200, 201]
    assert first["items"][0]["id"] == alone["id"]
    again = await bulk(nlp, *both)
    assert statuses(again) == [200, 200]
    assert [item["id"] for item in again["items"]] == [item["id"] for item in first["items"]]
    other = await bulk(nlp, {**body(name="b", gpus=2), "idempotency_key": "k2"})
    assert kinds(other) == ["idempotency-key-reused"]
    replay = await nlp.submit(body(name="b"), Idempotency_Key="k2")
    assert (replay.status_code, replay.json()["id"]) == (200, first["items"][1]["id"])


async def test_keys_and_names_count_within_one_request(nlp: Any, body: Any) -> None:
    made = await bulk(
        nlp,
        {**body(name="a"), "idempotency_key": "k"},
        {**body(name="a"), "idempotency_key": "k"},
        {**body(name="a", gpus=2), "idempotency_key": "k"},
        body(name="a"),
    )
    assert statuses(made) == [201, 200, 422, 409]
    assert kinds(made)[2:] == ["idempotency-key-reused", "name-in-use"]
    assert made["items"][0]["id"] == made["items"][1]["id"] == made["items"][3]["problem"]["job_id"]


async def test_a_name_that_was_used_before_gets_digits_in_the_cluster(nlp: Any, body: Any) -> None:
    old = await nlp.accepted(body(name="a"))
    await nlp.client.post(f"/v1/jobs/{old['id']}/cancel")
    made = await bulk(nlp, body(name="a"))
    read = (await nlp.client.get(f"/v1/jobs/{made['items'][0]['id']}")).json()
    assert (old["k8s_name"], read["k8s_name"][:2]) == ("a", "a-")


@pytest.mark.parametrize(
    ("jobs", "pointer"), [([], "/jobs"), (["many"] * 1001, "/jobs"), ({"a": 1}, "/jobs"), (None, "/jobs")]
)
async def test_a_list_that_is_none_is_refused_as_a_whole(nlp: Any, jobs: Any, pointer: str) -> None:
    answer = await nlp.client.post("/v1/teams/nlp/jobs/bulk", json={"jobs": jobs})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_items_that_are_no_objects_are_refused_one_by_one(nlp: Any, body: Any) -> None:
    made = await bulk(nlp, 1, None, "x", [], {**body(), "idempotency_key": "ü"}, body(name="a"))
    assert statuses(made) == [422] * 5 + [201]


async def test_another_teams_bulk_is_not_found(nlp: Any, body: Any) -> None:
    answer = await nlp.client.post("/v1/teams/vision/jobs/bulk", json={"jobs": [body()]})
    assert (answer.status_code, answer.json()["type"]) == (404, "not-found")


async def test_bulk_takes_larger_bodies_than_a_single_submission(nlp: Any, body: Any) -> None:
    jobs = [body(name=f"j{number}", gpus=0, task={"args": ["x" * 30_000]}) for number in range(60)]
    made = await bulk(nlp, *jobs)
    assert made["accepted"] == 60


async def test_decides_as_single_submissions_do(nlp: Any, vision: Any, api: Any, body: Any) -> None:
    """The same jobs one by one for one team and at once for another, whose queue and quota are alike."""
    await api.make_team("other")
    other = type(nlp)(api, await api.member("other"), "other")
    chance = random.Random(7)
    jobs = [
        {
            **body(
                name=f"j{chance.randrange(25)}",
                gpus=chance.choice([0, 0, 1, 2, 9, 0.5]),
                queue=chance.choice([None, None, "q-vision"]),
                priority=chance.choice([None, "high", "none-such"]),
            ),
            "idempotency_key": chance.choice([None, None, f"k{chance.randrange(15)}"]),
        }
        for _ in range(60)
    ]
    one_by_one = []
    for job in jobs:
        alone = {name: value for name, value in job.items() if name != "idempotency_key"}
        key = job["idempotency_key"]
        answer = await nlp.submit(alone, **({"Idempotency_Key": key} if key else {}))
        one_by_one.append((answer.status_code, answer.json().get("type")))
    made = await bulk(other, *jobs)
    assert list(zip(statuses(made), kinds(made), strict=True)) == one_by_one
    assert len(set(one_by_one)) > 5
    assert await other.used() == await nlp.used()
    assert sorted(await other.names()) == sorted(await nlp.names())


async def test_two_jobs_of_one_name_have_two_names_in_the_cluster(nlp: Any, body: Any) -> None:
    parent = await nlp.accepted(body(name="parent"))
    await nlp.cancel(parent["id"])
    ends_at_once = body(name="twice", after=[{"job": parent["id"]}])
    made = await bulk(nlp, ends_at_once, body(name="twice"))
    assert [(item["status"], item["state"]) for item in made["items"]] == [(201, "failed"), (201, "held")]
    names = [(await nlp.client.get(f"/v1/jobs/{item['id']}")).json()["k8s_name"] for item in made["items"]]
    assert names[0] == "twice"
    assert names[1].startswith("twice-")
