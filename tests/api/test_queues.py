import asyncio
import json
from typing import Any

import asyncpg
import pytest
from sqlalchemy import make_url, text

from app.db import Sessions

GPU = "nvidia.com/gpu"


def pointers(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.text
    assert answer.json()["type"] == "validation-error"
    return [fault["pointer"] for fault in answer.json()["errors"]]


async def test_a_queue_reads_as_it_was_made_and_is_not_seen_yet(api: Any) -> None:
    answer = await api.admin.post("/v1/queues", json={"name": "q-nlp", "weight": 2, "capability": {GPU: 8}})
    assert answer.status_code == 201
    assert answer.headers["location"] == "/v1/queues/q-nlp"
    queue = answer.json()
    made = {"created_at": queue["created_at"], "updated_at": queue["updated_at"]}
    assert queue == made | {
        "name": "q-nlp",
        "weight": 2,
        "capability": {GPU: "8"},
        "deserved": {},
        "guarantee": {},
        "reclaimable": True,
        "parent": None,
        "generation": 1,
        "problem": None,
        "observed": None,
    }
    assert (await api.admin.get("/v1/queues/q-nlp")).json() == queue
    assert (await api.admin.get("/v1/queues")).json() == {"items": [queue], "next_cursor": None}


async def test_amounts_are_kept_in_one_form(api: Any) -> None:
    capability = {"cpu": "1500m", "memory": "1Gi", "pods": 110, GPU: "4e0", "hugepages-2Mi": "1k"}
    queue = await api.make_queue("q", capability=capability)
    assert queue["capability"] == {
        "cpu": "1500m",
        "memory": "1073741824",
        "pods": "110",
        GPU: "4",
        "hugepages-2Mi": "1000",
    }


@pytest.mark.parametrize("name", ["default", "root", "Q", "a_b", "", "a" * 64, "-a", "a.", "q\x00", 5])
async def test_names_that_are_taken_by_volcano_or_no_labels_are_refused(api: Any, name: object) -> None:
    assert pointers(await api.admin.post("/v1/queues", json={"name": name})) == ["/name"]
    assert (await api.admin.get("/v1/queues")).json()["items"] == []


async def test_a_name_may_have_dots_and_63_characters(api: Any) -> None:
    await api.make_queue("a.b-c")
    await api.make_queue("a" * 63)
    answer = await api.admin.post("/v1/queues", json={"name": "a" * 64})
    assert "63" in answer.json()["detail"]


async def test_a_name_is_in_use_once(api: Any) -> None:
    answers = await asyncio.gather(*(api.admin.post("/v1/queues", json={"name": "q"}) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 4
    assert {answer.json()["type"] for answer in answers if answer.status_code == 409} == {"name-in-use"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"weight": 0}, ["/weight"]),
        ({"weight": 65536}, ["/weight"]),
        ({"weight": "high"}, ["/weight"]),
        ({"weight": "2"}, ["/weight"]),
        ({"weight": 1.5}, ["/weight"]),
        ({"weight": True}, ["/weight"]),
        ({"weight": None}, ["/weight"]),
        ({"reclaimable": "yes"}, ["/reclaimable"]),
        ({"capability": {GPU: -1}}, ["/capability/nvidia.com~1gpu"]),
        ({"capability": {GPU: 1.5}}, ["/capability/nvidia.com~1gpu"]),
        ({"capability": {GPU: "500m"}}, ["/capability/nvidia.com~1gpu"]),
        ({"capability": {GPU: "abc"}}, ["/capability/nvidia.com~1gpu"]),
        ({"capability": {GPU: True}}, ["/capability/nvidia.com~1gpu"]),
        ({"capability": {GPU: None}}, ["/capability/nvidia.com~1gpu"]),
        ({"capability": {GPU: 2**63}}, ["/capability/nvidia.com~1gpu"]),
        ({"capability": {"memory": "1.5GB"}}, ["/capability/memory"]),
        ({"capability": {"gpu": 1}}, ["/capability/gpu"]),
        ({"capability": {"cpus": 1}}, ["/capability/cpus"]),
        ({"capability": {"hugepages-big": 1}}, ["/capability/hugepages-big"]),
        ({"capability": {"kubernetes.io/x": 1}}, ["/capability/kubernetes.io~1x"]),
        ({"capability": 8}, ["/capability"]),
        ({"guarantee": {GPU: 1}}, ["/guarantee/nvidia.com~1gpu"]),
        ({"guarantee": {GPU: 3}, "deserved": {GPU: 2}}, ["/guarantee/nvidia.com~1gpu"]),
        ({"deserved": {GPU: 3}, "capability": {GPU: 2}}, ["/deserved/nvidia.com~1gpu"]),
        ({"deserved": {"cpu": "2001m"}, "capability": {"cpu": 2}}, ["/deserved/cpu"]),
        ({"parent": "nobody"}, ["/parent"]),
        ({"parent": "q"}, ["/parent"]),
        ({"state": "Open"}, ["/state"]),
        ({"observed": {}}, ["/observed"]),
        ({"generation": 9}, ["/generation"]),
        ({"created_at": "2020-01-01T00:00:00Z"}, ["/created_at"]),
    ],
)
async def test_queues_that_volcano_would_refuse_are_refused_with_the_place(
    api: Any, fields: dict[str, object], expected: list[str]
) -> None:
    assert pointers(await api.admin.post("/v1/queues", json={"name": "q", **fields})) == expected
    assert (await api.admin.get("/v1/queues")).json()["items"] == []
    if "parent" not in fields:
        await api.make_queue("r", capability={})
        assert pointers(await api.admin.patch("/v1/queues/r", json=fields)) == expected
        assert (await api.admin.get("/v1/queues/r")).json()["generation"] == 1


async def test_the_amount_that_was_sent_is_not_repeated(api: Any) -> None:
    answer = await api.admin.post("/v1/queues", json={"name": "q", "capability": {GPU: "tok-123", "cpu": "tok-123"}})
    assert len(pointers(answer)) == 2
    assert "tok-123" not in answer.text


async def test_a_change_raises_the_generation_and_forgets_the_refusal(api: Any, sessions: Sessions) -> None:
    before = await api.make_queue("q", capability={GPU: 8, "cpu": 4})
    async with sessions.begin() as session:
        await session.execute(text("UPDATE queues SET problem = 'denied the request'"))
    assert (await api.admin.get("/v1/queues/q")).json()["problem"] == "denied the request"
    same = (await api.admin.patch("/v1/queues/q", json={"weight": 1, "capability": {"cpu": "4000m", GPU: "8"}})).json()
    assert same["generation"] == 1
    after = (await api.admin.patch("/v1/queues/q", json={"capability": {GPU: 4}})).json()
    changed = {"capability": {GPU: "4"}, "generation": 2, "problem": None, "updated_at": after["updated_at"]}
    assert after == before | changed
    assert (await api.admin.get("/v1/queues/q")).json() == after
    assert (await api.admin.patch("/v1/queues/nobody", json={"weight": 2})).status_code == 404


async def test_changes_at_once_are_all_counted(api: Any) -> None:
    await api.make_queue("q")
    patches = (api.admin.patch("/v1/queues/q", json={"weight": weight}) for weight in range(2, 8))
    assert {answer.status_code for answer in await asyncio.gather(*patches)} == {200}
    assert (await api.admin.get("/v1/queues/q")).json()["generation"] == 7


async def test_a_tree_has_no_circles_and_at_most_five_levels(api: Any) -> None:
    await api.make_queue("level-1", parent="root")
    for level in range(2, 6):
        await api.make_queue(f"level-{level}", parent=f"level-{level - 1}")
    assert pointers(await api.admin.post("/v1/queues", json={"name": "level-6", "parent": "level-5"})) == ["/parent"]
    for below in ("level-1", "level-2", "level-5"):
        assert pointers(await api.admin.patch("/v1/queues/level-1", json={"parent": below})) == ["/parent"]
    await api.make_queue("top")
    assert pointers(await api.admin.patch("/v1/queues/level-1", json={"parent": "top"})) == ["/parent"]
    moved = await api.admin.patch("/v1/queues/level-5", json={"parent": None})
    assert (moved.status_code, moved.json()["parent"]) == (200, None)
    assert (await api.admin.patch("/v1/queues/level-1", json={"parent": "top"})).status_code == 200


async def test_two_changes_at_once_cannot_make_a_circle_together(api: Any) -> None:
    await api.make_queue("a")
    await api.make_queue("b")
    answers = await asyncio.gather(
        api.admin.patch("/v1/queues/a", json={"parent": "b"}), api.admin.patch("/v1/queues/b", json={"parent": "a"})
    )
    assert sorted(answer.status_code for answer in answers) == [200, 422]


async def test_members_see_the_queues_granted_to_their_team(api: Any) -> None:
    await api.make_queue("shared")
    await api.make_team("nlp", queues=["shared"], gpus=None)
    await api.make_team("vision", gpus=None)
    member = await api.member("nlp", "viewer")
    assert [queue["name"] for queue in (await member.get("/v1/queues")).json()["items"]] == ["shared"]
    assert (await member.get("/v1/queues/shared")).status_code == 200
    hidden, missing = await member.get("/v1/queues/q-vision"), await member.get("/v1/queues/nobody")
    assert hidden.status_code == missing.status_code == 404
    assert hidden.json()["detail"] == missing.json()["detail"]


async def test_what_the_controller_saw_is_shown_with_its_time(api: Any, sessions: Sessions) -> None:
    await api.make_queue("q")
    seen = {
        "state": "Open",
        "allocated": {GPU: "2"},
        "pod_groups": {"pending": 3, "inqueue": 1, "running": 2, "unknown": 0},
        "drift": {GPU: "1"},
    }
    async with sessions.begin() as session:
        await session.execute(
            text("UPDATE queues SET observed = CAST(:seen AS jsonb), observed_at = '2026-05-01T12:00:00Z'"),
            {"seen": json.dumps(seen)},
        )
    observed = (await api.admin.get("/v1/queues/q")).json()["observed"]
    assert observed == {**seen, "as_of": "2026-05-01T12:00:00Z"}


async def test_a_state_that_volcano_has_not_set_yet_reads_as_unknown(api: Any, sessions: Sessions) -> None:
    await api.make_queue("q")
    async with sessions.begin() as session:
        await session.execute(text("UPDATE queues SET observed = '{}', observed_at = now()"))
    observed = (await api.admin.get("/v1/queues/q")).json()["observed"]
    assert observed["state"] == "Unknown"
    assert observed["pod_groups"] == {"pending": 0, "inqueue": 0, "running": 0, "unknown": 0}


async def test_the_controller_is_told_of_every_change_and_of_no_refusal(api: Any, database_url: str) -> None:
    url = make_url(database_url)
    listener = await asyncpg.connect(
        user=url.username,
        database=url.database,
        host=url.query.get("host", url.host),
        port=url.query.get("port", url.port),
    )
    heard: asyncio.Queue[str] = asyncio.Queue()
    await listener.add_listener("pumice_queues", lambda *event: heard.put_nowait(event[3]))
    await api.admin.post("/v1/queues", json={"name": "bad", "weight": 0})
    await api.make_queue("one")
    await api.admin.patch("/v1/queues/one", json={"weight": 1})
    await api.make_queue("two")
    await api.admin.patch("/v1/queues/one", json={"weight": 2})
    told = [await asyncio.wait_for(heard.get(), timeout=10) for _ in range(3)]
    assert told == ["one", "two", "one"]
    await listener.close()
