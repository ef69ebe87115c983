"""Counts of jobs by a field, under the filters of the list."""

from typing import Any

import pytest

from app.jobs import grouping


@pytest.fixture
async def mixed(api: Any, nlp: Any, vision: Any, body: Any) -> None:
    """Six jobs of nlp, two of them cancelled and two of another user, and one of vision."""
    other = await api.member("nlp", subject="u-other")
    for number in range(4):
        made = await nlp.accepted(body(name=f"a-{number}", gpus=0, labels={"stage": "test", "n": str(number % 2)}))
        if number < 2:
            assert (await nlp.cancel(made["id"])).status_code == 202
    for number in range(2):
        sent = await other.post("/v1/teams/nlp/jobs", json=body(name=f"b-{number}", gpus=0))
        assert sent.status_code == 201
    await vision.accepted(body(name="v", gpus=0))


async def counted(client: Any, query: str) -> dict[str, int]:
    answer = await client.get(f"/v1/jobs?{query}")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert query.startswith(f"group_by={found['group_by']}")
    assert found["complete"] is True
    amounts = [group["count"] for group in found["groups"]]
    assert amounts == sorted(amounts, reverse=True)
    return {group["value"]: group["count"] for group in found["groups"]}


@pytest.mark.parametrize(
    ("query", "counts"),
    [
        ("group_by=state", {"held": 4, "cancelled": 2}),
        ("group_by=submitted_by", {"u-nlp": 4, "u-other": 2}),
        ("group_by=queue", {"q-nlp": 6}),
        ("group_by=submitted_by&state=held", {"u-nlp": 2, "u-other": 2}),
        ("group_by=state&state=held&state=lost", {"held": 4}),
        ("group_by=state&name=a-0", {"cancelled": 1}),
        ("group_by=state&label=stage%3Dtest", {"held": 2, "cancelled": 2}),
        ("group_by=state&label=stage%3Dtest&label=n%3D0&submitted_by=u-nlp", {"held": 1, "cancelled": 1}),
        ("group_by=state&created_after=2000-01-01T00:00:00Z", {"held": 4, "cancelled": 2}),
        ("group_by=state&created_before=2000-01-01T00:00:00Z", {}),
        ("group_by=state&team=nlp", {"held": 4, "cancelled": 2}),
        ("group_by=state&team=vision", {}),
    ],
)
async def test_counts_under_the_same_filters(mixed: None, nlp: Any, query: str, counts: dict[str, int]) -> None:
    assert await counted(nlp.client, query) == counts


async def test_administrators_count_every_teams_jobs(mixed: None, api: Any) -> None:
    assert await counted(api.admin, "group_by=queue") == {"q-nlp": 6, "q-vision": 1}
    assert await counted(api.admin, "group_by=queue&team=vision") == {"q-vision": 1}
    assert await counted(api.admin, "group_by=queue&label=stage%3Dtest") == {"q-nlp": 4}


@pytest.mark.parametrize("query", ["group_by=name", "group_by=", "group_by=state&group_by=queue"])
async def test_refuses_other_fields(nlp: Any, query: str) -> None:
    answer = await nlp.client.get(f"/v1/jobs?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/query/group_by")


async def test_groups_have_no_pages(mixed: None, nlp: Any) -> None:
    cursor = (await nlp.client.get("/v1/jobs?limit=1")).json()["next_cursor"]
    for sent in (cursor, "x"):
        answer = await nlp.client.get(f"/v1/jobs?group_by=state&cursor={sent}")
        assert (answer.status_code, answer.json()["type"]) == (400, "invalid-cursor")


async def test_says_when_it_has_not_counted_everything(mixed: None, nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MOST_LABELLED", 3)
    answer = (await nlp.client.get("/v1/jobs?group_by=state&label=stage%3Dtest")).json()
    assert answer == {
        "group_by": "state",
        "groups": [{"value": "held", "count": 2}, {"value": "cancelled", "count": 1}],
        "complete": False,
    }
    answer = (await nlp.client.get("/v1/jobs?group_by=submitted_by&limit=1")).json()
    assert (answer["groups"], answer["complete"]) == ([{"value": "u-nlp", "count": 4}], False)
