"""Pages of events, of a team and of a job."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from app.db import Sessions, now
from app.jobs import feed
from app.jobs.states import JobState
from app.jobs.transitions import move, record_event

Make = Callable[..., dict[str, Any]]


@pytest.fixture
async def lives(nlp: Any, vision: Any, body: Make, sessions: Sessions) -> dict[str, list[dict[str, Any]]]:
    """Two jobs of nlp, one of which failed, and one of vision that was cancelled; their events by team."""
    for number in range(2):
        job = await nlp.accepted(body(name=f"job-{number}"))
    for state in (JobState.SUBMITTING, JobState.PENDING, JobState.FAILED):
        async with sessions.begin() as session:
            assert await move(session, UUID(job["id"]), state, at=now())
    await vision.cancel((await vision.accepted(body()))["id"])
    return {member.team: await _all(member.client) for member in (nlp, vision)}


async def _all(client: Any, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get("/v1/events", params={"limit": 500, **query})
    assert answer.status_code == 200, answer.text
    assert answer.json()["next_cursor"] is None
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_a_member_reads_the_teams_events_and_an_admin_everybodys(
    api: Any, nlp: Any, lives: dict[str, list[dict[str, Any]]]
) -> None:
    assert [event["type"] for event in lives["nlp"]] == ["accepted", "accepted", "state", "state", "state"]
    assert [event["type"] for event in lives["vision"]] == ["accepted", "cancel"]
    assert {event["team"] for event in lives["nlp"]} == {"nlp"}
    everything = await _all(api.admin)
    assert everything == sorted(lives["nlp"] + lives["vision"], key=lambda event: event["id"])
    assert await _all(api.admin, team="vision") == lives["vision"]
    assert await _all(nlp.client, team="nlp") == lives["nlp"]


async def test_a_member_is_told_nothing_of_another_team(nlp: Any, lives: dict[str, list[dict[str, Any]]]) -> None:
    answer = await nlp.client.get("/v1/events", params={"team": "vision"})
    assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
    assert await _all(nlp.client, job=lives["vision"][0]["job_id"]) == []


async def test_filters_and_positions(nlp: Any, lives: dict[str, list[dict[str, Any]]]) -> None:
    events = lives["nlp"]
    for query, holds in (
        ({"job": events[0]["job_id"]}, lambda event: event["job_id"] == events[0]["job_id"]),
        ({"type": ["accepted"]}, lambda event: event["type"] == "accepted"),
        ({"type": ["accepted", "state"]}, lambda _: True),
        ({"type": ["put-back"]}, lambda _: False),
        ({"state": ["failed", "pending"]}, lambda event: event["state"] in {"failed", "pending"}),
        ({"state": ["held"], "type": ["state"]}, lambda _: False),
        ({"after": events[1]["id"]}, lambda event: event["id"] > events[1]["id"]),
        ({"after": events[-1]["id"]}, lambda _: False),
        ({"after": 2**63 - 1}, lambda _: False),
    ):
        assert await _all(nlp.client, **query) == [event for event in events if holds(event)], query


@pytest.mark.parametrize("query", [{}, {"type": ["state"]}, {"type": ["cancel"]}, {"state": ["held", "failed"]}])
async def test_pages_join_without_a_gap_also_when_a_page_finds_nothing(
    nlp: Any, lives: dict[str, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, query: dict[str, list[str]]
) -> None:
    monkeypatch.setattr(feed, "MOST_SCANNED", 1)
    found: list[dict[str, Any]] = []
    path = "/v1/events"
    for _ in itertools.repeat(None, 20):
        answer = await nlp.client.get(path, params=None if "?" in path else {"limit": 1, **query})
        found += answer.json()["items"]
        if answer.json()["next_cursor"] is None:
            break
        path = answer.headers["link"].removeprefix("<").partition(">")[0]
    assert "link" not in answer.headers
    wanted = [
        event
        for event in lives["nlp"]
        if event["type"] in query.get("type", [event["type"]])
        and event["state"] in query.get("state", [event["state"]])
    ]
    assert found == wanted


async def test_a_page_waits_for_an_earlier_event_that_is_being_written(
    nlp: Any, body: Make, sessions: Sessions
) -> None:
    first = await nlp.accepted(body())
    async with sessions.begin() as session:
        await record_event(session, UUID(first["id"]), "nlp", "reason", JobState.HELD, at=now())
        second = await nlp.accepted(body(name="second"))  # committed before the one in between
        reading = asyncio.create_task(_all(nlp.client))
        await session.execute(text("SELECT 1"))
    events = await reading
    assert [event["job_id"] for event in events] == [first["id"], first["id"], second["id"]]


async def test_a_writer_that_hangs_delays_pages_of_the_team_but_not_of_the_job(
    nlp: Any, body: Make, sessions: Sessions
) -> None:
    first = await nlp.accepted(body())
    async with sessions.begin() as session:
        await record_event(session, UUID(first["id"]), "nlp", "reason", JobState.HELD, at=now())
        unknown = await nlp.client.get(
            "/v1/events"
        )  # this process has not seen any of it: an empty page would be wrong
        assert (unknown.status_code, unknown.json()["type"]) == (503, "unavailable")
    assert len(await _all(nlp.client)) == 2
    async with sessions.begin() as session:
        await record_event(session, UUID(first["id"]), "nlp", "reason", JobState.HELD, at=now())
        second = await nlp.accepted(body(name="second"))
        assert second["id"] not in [event["job_id"] for event in await _all(nlp.client)]
        answer = await nlp.client.get(f"/v1/jobs/{second['id']}/events")
        assert [event["type"] for event in answer.json()["items"]] == ["accepted"]
    assert second["id"] in [event["job_id"] for event in await _all(nlp.client)]


@pytest.mark.parametrize(
    ("query", "status", "pointer"),
    [
        ("type=acepted", 422, "/query/type"),
        ("type=", 422, "/query/type"),
        ("state=Failed", 422, "/query/state/0"),
        ("job=x", 422, "/query/job"),
        ("after=-1", 422, "/query/after"),
        ("after=1.5", 422, "/query/after"),
        ("after=9223372036854775808", 422, "/query/after"),
        ("limit=0", 422, "/query/limit"),
        ("limit=501", 422, "/query/limit"),
        ("since=1", 422, "/query/since"),
        ("team=nlp&team=nlp", 422, "/query/team"),
        ("cursor=x", 400, None),
    ],
)
async def test_bad_parameters_are_named(nlp: Any, query: str, status: int, pointer: str | None) -> None:
    answer = await nlp.client.get(f"/v1/events?{query}")
    problem = answer.json()
    assert answer.status_code == status, problem
    if pointer is None:
        assert problem["type"] == "invalid-cursor"
    else:
        assert [fault["pointer"] for fault in problem["errors"]] == [pointer]


async def test_a_cursor_of_one_list_is_none_of_another(nlp: Any, lives: dict[str, list[dict[str, Any]]]) -> None:
    cursor = (await nlp.client.get("/v1/events?limit=1")).json()["next_cursor"]
    for path in ("/v1/events?type=state&", f"/v1/jobs/{lives['nlp'][0]['job_id']}/events?limit=1&"):
        answer = await nlp.client.get(f"{path}cursor={cursor}")
        assert (answer.status_code, answer.json()["type"]) == (400, "invalid-cursor")


@pytest.mark.parametrize(
    ("accept", "streams"),
    [
        ("*/*", False),
        ("application/json", False),
        ("text/event-stream", True),
        ("Text/Event-Stream", True),
        ("text/event-stream;q=0.5, application/json", False),
        ("application/json, text/event-stream", True),
        ("application/json;q=0.9, text/event-stream;q=0.95", True),
        ("text/event-stream;q=0", False),
        ("text/event-stream;q=high", False),
        ("text/*", False),
        ("", False),
    ],
)
async def test_the_accept_header_decides_between_page_and_stream(
    nlp: Any, body: Make, accept: str, streams: bool
) -> None:
    """A stream has no `limit` and refuses it, which is the quickest way to see that it would have been one."""
    answer = await nlp.client.get("/v1/events?limit=5", headers={"Accept": accept})
    assert answer.status_code == (422 if streams else 200)
