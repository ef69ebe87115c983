from typing import Any

import pytest


async def test_the_same_key_and_body_give_the_same_job(nlp: Any, body: Any) -> None:
    first = await nlp.accepted(body(gpus=8), Idempotency_Key="k1")
    reordered = dict(reversed(body(gpus="8").items())) | {"priority": None, "labels": {}}
    for again in (body(gpus=8), body(gpus=8), reordered):
        answer = await nlp.submit(again, Idempotency_Key="k1")
        assert answer.status_code == 200
        assert answer.headers["Idempotency-Replayed"] == "true"
        assert answer.headers["Location"] == f"/v1/jobs/{first['id']}"
        assert answer.json()["id"] == first["id"]
    assert await nlp.names() == ["bulk-score"]
    assert await nlp.used() == 8


async def test_a_first_answer_is_not_marked_as_replayed(nlp: Any, body: Any) -> None:
    assert "Idempotency-Replayed" not in (await nlp.submit(body(), Idempotency_Key="k1")).headers


async def test_a_replay_shows_what_became_of_the_job(nlp: Any, body: Any) -> None:
    first = await nlp.accepted(body(), Idempotency_Key="k1")
    await nlp.cancel(first["id"])
    await nlp.accepted(body())  # the name is taken again, the replay is answered all the same
    answer = await nlp.submit(body(), Idempotency_Key="k1")
    assert (answer.status_code, answer.json()["id"], answer.json()["state"]) == (200, first["id"], "cancelled")


async def test_another_body_is_refused(nlp: Any, body: Any) -> None:
    await nlp.accepted(body(), Idempotency_Key="k1")
    await nlp.refused(body(name="other"), 422, "idempotency-key-reused", Idempotency_Key="k1")


async def test_each_team_has_its_own_keys(nlp: Any, vision: Any, body: Any) -> None:
    first = await nlp.accepted(body(), Idempotency_Key="k1")
    assert (await vision.accepted(body(), Idempotency_Key="k1"))["id"] != first["id"]


async def test_a_refused_request_leaves_its_key_free(nlp: Any, body: Any) -> None:
    await nlp.refused(body(gpus=9), 422, "job-never-fits", Idempotency_Key="k1")
    await nlp.accepted(body(), Idempotency_Key="k1")


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "a\tb", "é"])
async def test_refuses_keys(nlp: Any, body: Any, key: str) -> None:
    headers = {"Idempotency-Key": key.encode()}
    answer = await nlp.client.post("/v1/teams/nlp/jobs", json=body(), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (422, "validation-error")
    assert answer.json()["errors"][0]["pointer"].lower() == "/header/idempotency-key"
    assert await nlp.names() == []


async def test_takes_the_longest_key(nlp: Any, body: Any) -> None:
    await nlp.accepted(body(), Idempotency_Key="!" + "~" * 254)


async def test_refuses_two_keys_at_once(nlp: Any, body: Any) -> None:
    headers = [("Idempotency-Key", "k1"), ("Idempotency-Key", "k2")]
    answer = await nlp.client.post("/v1/teams/nlp/jobs", json=body(), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (422, "validation-error")
    assert answer.json()["errors"][0]["pointer"] == "/header/idempotency-key"
    assert await nlp.names() == []
