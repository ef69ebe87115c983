from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest

from app.db import Sessions
from app.jobs.models import JobPodRow


@pytest.fixture
async def three(nlp: Any, body: Any) -> list[dict[str, Any]]:
    """Jobs a, b and c, in this order."""
    return [
        await nlp.accepted(body(name=name, gpus=0, labels={"dataset": dataset, "stage": "x"}))
        for name, dataset in (("a", "d1"), ("b", "d2"), ("c", "d1"))
    ]


async def test_lists_the_newest_first(nlp: Any, three: Any) -> None:
    assert await nlp.names() == ["c", "b", "a"]
    assert [job["name"] for job in await nlp.listed(sort="created_at")] == ["a", "b", "c"]
    assert [job["name"] for job in await nlp.listed(sort="-created_at")] == ["c", "b", "a"]


async def test_a_list_shows_what_a_read_shows(nlp: Any, three: Any) -> None:
    for job in await nlp.listed():
        assert await nlp.reread(job) == job


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"label": "dataset=d1"}, ["c", "a"]),
        ({"label": ["dataset=d1", "stage=x"]}, ["c", "a"]),
        ({"label": ["dataset=d1", "stage=y"]}, []),
        ({"label": "dataset="}, []),
        ({"name": "b"}, ["b"]),
        ({"queue": "q-nlp"}, ["c", "b", "a"]),
        ({"queue": "q"}, []),
        ({"submitted_by": "u-nlp"}, ["c", "b", "a"]),
        ({"submitted_by": "u-vision"}, []),
        ({"state": "held"}, ["c", "b"]),
        ({"state": ["held", "cancelled"]}, ["c", "b", "a"]),
        ({"state": "cancelled", "label": "dataset=d1"}, ["a"]),
        ({"team": "nlp"}, ["c", "b", "a"]),
        ({"team": "vision"}, []),
        ({"team": ""}, []),
    ],
)
async def test_filters(nlp: Any, three: Any, filters: dict[str, Any], names: list[str]) -> None:
    await nlp.cancel(three[0]["id"])
    assert [job["name"] for job in await nlp.listed(**filters)] == names


async def test_a_list_follows_labels_that_change(nlp: Any, three: Any) -> None:
    changes = {"labels": {"dataset": "d9", "stage": None}}
    assert (await nlp.client.patch(f"/v1/jobs/{three[0]['id']}", json=changes)).status_code == 200
    for label, names in (("dataset=d9", ["a"]), ("dataset=d1", ["c"]), ("stage=x", ["c", "b"])):
        assert [job["name"] for job in await nlp.listed(label=label)] == names


async def test_no_more_labels_than_a_list_can_look_for(nlp: Any, three: Any) -> None:
    labels = [f"key-{number}=x" for number in range(9)]
    assert await nlp.listed(label=labels[:8]) == []
    answer = await nlp.client.get("/v1/jobs", params={"label": labels})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/query/label")


@pytest.mark.parametrize("hours", [0, 5.5, -8])
async def test_filters_by_time_in_any_zone(nlp: Any, three: Any, hours: float) -> None:
    made = {job["name"]: datetime.fromisoformat(job["created_at"]) for job in three}
    moment = made["b"].astimezone(timezone(timedelta(hours=hours)))
    after = [name for name in ("c", "b", "a") if made[name] >= moment]
    before = [name for name in ("c", "b", "a") if made[name] < moment]
    assert "b" in after
    assert "a" in before
    assert [job["name"] for job in await nlp.listed(created_after=moment.isoformat())] == after
    assert [job["name"] for job in await nlp.listed(created_before=moment.isoformat())] == before
    later = moment + timedelta(microseconds=1)
    assert "b" not in [job["name"] for job in await nlp.listed(created_after=later.isoformat())]
    assert "b" in [job["name"] for job in await nlp.listed(created_before=later.isoformat())]


async def test_a_plus_that_was_not_escaped_is_still_one(nlp: Any, three: Any) -> None:
    for path, names in (
        ("created_after=2000-01-01T05:30:00+05:30", ["c", "b", "a"]),
        ("created_before=2000-01-01T05:30:00+05:30", []),
    ):
        answer = await nlp.client.get(f"/v1/jobs?{path}")
        assert [job["name"] for job in answer.json()["items"]] == names


@pytest.mark.parametrize("year", ["0001", "1969", "9999"])
async def test_times_far_away_are_no_error(nlp: Any, three: Any, year: str) -> None:
    moment = f"{year}-01-01T00:00:00Z"
    names = ["c", "b", "a"]
    assert [job["name"] for job in await nlp.listed(created_after=moment)] == ([] if year == "9999" else names)
    assert [job["name"] for job in await nlp.listed(created_before=moment)] == (names if year == "9999" else [])


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=-1", "limit=1e9", "limit=501", "limit=abc", "limit=10.5", "staet=failed", "offset=1"),
        *(
            "state=Failed",
            "state=failed,running",
            "state=",
            "sort=name",
            "label=dataset",
            "label==x",
            "label=a=1&label=a=2",
        ),
        *("created_after=2030-01-01T00:00:00", "created_before=yesterday", "name=%00"),
        *("created_after=20260101", "created_after=0", "limit=1&limit=2", "team=nlp&team=vision", "name=a&name=b"),
    ],
)
async def test_refuses_parameters_by_their_name(nlp: Any, query: str) -> None:
    answer = await nlp.client.get(f"/v1/jobs?{query}")
    assert (answer.status_code, answer.json()["type"]) == (422, "validation-error")
    assert answer.json()["errors"][0]["pointer"].startswith(f"/query/{query.partition('=')[0]}")


async def test_pages_show_every_job_once(nlp: Any, three: Any) -> None:
    for sort, names in (("-created_at", ["c", "b", "a"]), ("created_at", ["a", "b", "c"])):
        seen: list[str] = []
        path = f"/v1/jobs?limit=1&sort={sort}"
        while path:
            answer = await nlp.client.get(path)
            seen += [job["name"] for job in answer.json()["items"]]
            link = answer.links.get("next")
            assert (link is None) == (answer.json()["next_cursor"] is None)
            path = "" if link is None else link["url"]
        assert seen == names


async def test_refuses_cursors_of_other_lists(nlp: Any, three: Any) -> None:
    cursor = (await nlp.client.get("/v1/jobs?limit=1&state=held")).json()["next_cursor"]
    for query in (f"state=failed&cursor={cursor}", "cursor=x", "cursor=AAAA", f"state=held&cursor={cursor}x"):
        answer = await nlp.client.get(f"/v1/jobs?limit=1&{query}")
        assert (answer.status_code, answer.json()["type"]) == (400, "invalid-cursor"), query


async def test_members_see_their_own_team_only(nlp: Any, vision: Any, three: Any, body: Any) -> None:
    await vision.accepted(body(name="v"))
    assert await vision.names() == ["v"]
    assert await nlp.names() == ["c", "b", "a"]
    everything = (await nlp.api.admin.get("/v1/jobs")).json()["items"]
    assert [job["name"] for job in everything] == ["v", "c", "b", "a"]
    of_nlp = (await nlp.api.admin.get("/v1/jobs?team=nlp")).json()["items"]
    assert [job["name"] for job in of_nlp] == ["c", "b", "a"]


@pytest.mark.parametrize("part", ["", "/pods", "/events", "/manifest"])
async def test_another_teams_job_is_not_found(nlp: Any, vision: Any, three: Any, part: str) -> None:
    assert (await nlp.client.get(f"/v1/jobs/{three[0]['id']}{part}")).status_code == 200
    for job_id in (three[0]["id"], str(uuid4()), "not-an-id", "..%2F"):
        answer = await vision.client.get(f"/v1/jobs/{job_id}{part}")
        assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
    assert (await nlp.api.client(None).get(f"/v1/jobs/{three[0]['id']}{part}")).status_code == 401


async def test_pods_of_every_attempt_in_pages(nlp: Any, three: Any, sessions: Sessions) -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    pods = [(2, "a-worker-0", "u3"), (1, "a-worker-0", "u1"), (1, "a-worker-1", "u2"), (1, "a-worker-0", "u0")]
    async with sessions.begin() as session:
        for attempt, name, uid in pods:
            session.add(
                JobPodRow(
                    uid=uid,
                    job_id=UUID(three[0]["id"]),
                    name=name,
                    attempt=attempt,
                    task="worker",
                    index=int(name[-1]),
                    phase="Running",
                    node="n1",
                    resources={"nvidia.com/gpu": 1},
                    created_at=at,
                )
            )
    seen: list[dict[str, Any]] = []
    path = f"/v1/jobs/{three[0]['id']}/pods?limit=1"
    while path:
        answer = await nlp.client.get(path)
        seen += answer.json()["items"]
        path = answer.links.get("next", {}).get("url", "")
    assert [(pod["attempt"], pod["name"], pod["uid"]) for pod in seen] == sorted(pods)
    assert seen[0]["resources"] == {"nvidia.com/gpu": "1"}
    assert seen[0]["created_at"] == "2030-01-01T00:00:00Z"


async def test_events_go_on_after_an_id(nlp: Any, three: Any) -> None:
    await nlp.cancel(three[0]["id"])
    path = f"/v1/jobs/{three[0]['id']}/events"
    first, second = (await nlp.client.get(path)).json()["items"]
    assert [first["type"], second["type"]] == ["accepted", "cancel"]
    assert (await nlp.client.get(f"{path}?after={first['id']}")).json()["items"] == [second]
    assert (await nlp.client.get(f"{path}?after={second['id']}")).json()["items"] == []
    page = await nlp.client.get(f"{path}?limit=1")
    assert page.json()["items"] == [first]
    assert (await nlp.client.get(page.links["next"]["url"])).json()["items"] == [second]
    assert (await nlp.client.get(f"{path}?after=-1")).status_code == 422


async def test_the_manifest_is_the_volcano_job(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(body(task={"env": {"A": "1"}}))
    manifest = (await nlp.client.get(f"/v1/jobs/{job['id']}/manifest")).json()
    assert (manifest["apiVersion"], manifest["kind"]) == ("batch.volcano.sh/v1alpha1", "Job")
    assert manifest["metadata"]["name"] == job["k8s_name"]
    assert manifest["metadata"]["labels"]["pumice.dev/job-id"] == job["id"]
    (container,) = manifest["spec"]["tasks"][0]["template"]["spec"]["containers"]
    own = [{"name": "PUMICE_JOB_ID", "value": job["id"]}, {"name": "PUMICE_TASK", "value": "worker"}]
    assert container["env"] == [*own, {"name": "A", "value": "***"}]
