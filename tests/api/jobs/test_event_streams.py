"""Streams of events over real connections to the real server."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from app.auth import service as auth_service
from app.db import Sessions, now
from app.jobs import event_stream, live
from app.jobs.states import JobState
from app.jobs.transitions import move, record_event
from app.telemetry import EVENT_STREAMS, EVENT_STREAMS_CUT
from tests.api.jobs.streams import Server, opened

Make = Callable[..., dict[str, Any]]


@pytest.fixture
async def server(app: FastAPI) -> AsyncIterator[Server]:
    server = Server(app)
    async with server.run():
        yield server


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats, and looks at the token, at every moment."""
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(auth_service, "CACHE_SECONDS", 0.0)


async def to(sessions: Sessions, job_id: str, *states: JobState) -> None:
    for state in states:
        async with sessions.begin() as session:
            assert await move(session, UUID(job_id), state, at=now())


async def write(
    sessions: Sessions, job_id: str, count: int, *, reason: str = "Waiting", message: str | None = None
) -> None:
    """So many further events, in one transaction."""
    async with sessions.begin() as session:
        for _ in range(count):
            await record_event(
                session, UUID(job_id), "nlp", "reason", JobState.HELD, at=now(), reason=reason, message=message
            )


async def listed(client: httpx.AsyncClient, path: str, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get(path, params={"limit": 500, **query})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_a_jobs_stream_tells_its_whole_life_and_ends_with_it(
    server: Server, nlp: Any, body: Make, sessions: Sessions
) -> None:
    job = await nlp.accepted(body())
    path = f"/v1/jobs/{job['id']}/events"
    client = server.client(nlp.client)
    async with opened(client, path) as stream:
        assert stream.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.answer.headers["cache-control"] == "no-store"
        assert stream.answer.headers["x-accel-buffering"] == "no"
        assert stream.answer.headers["vary"] == "Accept"
        (first,) = await stream.events(1)
        assert first.event == "accepted"
        await to(sessions, job["id"], JobState.SUBMITTING, JobState.PENDING, JobState.RUNNING)
        lived = await stream.events(3)
        await to(sessions, job["id"], JobState.SUCCEEDED)
        ended = await stream.rest()
    told = [first, *lived, *ended]
    assert [block.data for block in told] == await listed(client, path)
    assert [block.id for block in told] == [str(block.data["id"]) for block in told]
    assert [block.event for block in told] == [block.data["type"] for block in told]
    assert [block.data["state"] for block in told] == ["held", "submitting", "pending", "running", "succeeded"]


async def test_a_stream_goes_on_behind_the_last_event_id_and_not_at_all_behind_the_end(
    server: Server, nlp: Any, body: Make, sessions: Sessions
) -> None:
    job = await nlp.accepted(body())
    await to(sessions, job["id"], JobState.SUBMITTING, JobState.FAILED)
    path = f"/v1/jobs/{job['id']}/events"
    client = server.client(nlp.client)
    ids = [str(event["id"]) for event in await listed(client, path)]
    for number, after in enumerate(ids[:-1]):
        async with opened(client, path, last=after, after=0) as stream:
            assert [block.id for block in await stream.rest()] == ids[number + 1 :]
        async with opened(client, path, after=after) as stream:
            assert [block.id for block in await stream.rest()] == ids[number + 1 :]
    headers = {"Accept": "text/event-stream", "Last-Event-ID": ids[-1]}
    answer = await client.get(path, headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")  # a browser does not connect again


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "1e3", "0x1", "\u0661", "9" * 19, "9" * 20, "1000000", "null"])
@pytest.mark.parametrize("path", ["/v1/events", "/v1/jobs/{id}/events"])
async def test_a_last_event_id_that_nobody_gave_out_is_refused_before_the_stream_begins(
    nlp: Any, body: Make, path: str, given: str
) -> None:
    job = await nlp.accepted(body())
    headers = {b"Accept": b"text/event-stream", b"Last-Event-ID": given.encode()}
    answer = await nlp.client.get(path.format(id=job["id"]), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (400, "invalid-cursor")
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_teams_stream_begins_now_and_shows_no_other_team(
    server: Server, nlp: Any, vision: Any, body: Make, api: Any
) -> None:
    before = await nlp.accepted(body(name="before"))
    ours, theirs, everybodys = (server.client(each) for each in (nlp.client, vision.client, api.admin))
    async with (
        opened(ours, "/v1/events") as stream,
        opened(theirs, "/v1/events") as other,
        opened(everybodys, "/v1/events") as whole,
        opened(everybodys, "/v1/events", team="nlp") as chosen,
        opened(ours, "/v1/events", after="0") as all_of_ours,
    ):
        mine = await nlp.accepted(body(name="mine"))
        yours = await vision.accepted(body(name="yours"))
        assert [event.data["job_id"] for event in await stream.events(1)] == [mine["id"]]
        assert [event.data["job_id"] for event in await other.events(1)] == [yours["id"]]
        assert [event.data["team"] for event in await whole.events(2)] == ["nlp", "vision"]
        assert [event.data["job_id"] for event in await chosen.events(1)] == [mine["id"]]
        assert [event.data["job_id"] for event in await all_of_ours.events(2)] == [before["id"], mine["id"]]


async def test_a_stream_that_saw_nothing_yet_can_be_resumed(server: Server, nlp: Any, body: Make) -> None:
    """The first block has the position already: what happens between two connections is not lost."""
    client = server.client(nlp.client)
    async with opened(client, "/v1/events") as stream:
        position = stream.position
    job = await nlp.accepted(body())
    async with opened(client, "/v1/events", last=position) as stream:
        (event,) = await stream.events(1)
    assert event.data["job_id"] == job["id"]


async def test_filters_of_a_stream(server: Server, nlp: Any, body: Make, sessions: Sessions) -> None:
    client = server.client(nlp.client)
    jobs = [await nlp.accepted(body(name=f"job-{number}")) for number in range(2)]
    async with (
        opened(client, "/v1/events", job=jobs[1]["id"], after="0") as of_job,
        opened(client, "/v1/events", type=["accepted", "cancel"], after="0") as of_types,
        opened(client, "/v1/events", state=["failed", "submitting"], after="0") as of_states,
    ):
        for job in jobs:
            await to(sessions, job["id"], JobState.SUBMITTING, JobState.FAILED)
        await nlp.cancel((await nlp.accepted(body(name="third")))["id"])
        assert [event.data["state"] for event in await of_job.events(3)] == ["held", "submitting", "failed"]
        types = ["accepted", "accepted", "accepted", "cancel"]
        assert [event.event for event in await of_types.events(4)] == types
        assert [event.data["state"] for event in await of_states.events(4)] == ["submitting", "failed"] * 2


@pytest.mark.usefixtures("quick")
async def test_a_quiet_stream_has_a_heartbeat_with_its_position(
    server: Server, nlp: Any, vision: Any, body: Make
) -> None:
    async with opened(server.client(nlp.client), "/v1/events") as stream:
        began = stream.position
        assert (await stream.block()).id == began
        await vision.accepted(body())  # nothing of ours, and yet further along
        while (block := await stream.block()).id == began:
            assert block.comment
            assert not block.is_event


@pytest.mark.usefixtures("quick")
async def test_a_stream_ends_when_its_token_is_revoked(server: Server, nlp: Any, api: Any, body: Make) -> None:
    token = await api.make_token("nlp", "viewer")
    async with opened(server.client(api.client(token["token"])), "/v1/events") as stream:
        await nlp.accepted(body())
        await stream.events(1)
        assert (await api.admin.delete(f"/v1/tokens/{token['id']}")).status_code == 204
        await stream.rest()


@pytest.mark.usefixtures("quick")
async def test_a_stream_ends_when_its_token_expires(server: Server, nlp: Any, api: Any) -> None:
    expires = (now() + timedelta(seconds=1)).isoformat()
    token = await api.make_token("nlp", "viewer", expires_at=expires)
    async with opened(server.client(api.client(token["token"])), "/v1/events") as stream:
        await stream.rest()


async def test_streams_hold_no_connection_of_the_pool(
    server: Server, nlp: Any, body: Make, engine: AsyncEngine
) -> None:
    """Six times as many streams as connections; each is told of each event, and other requests go on (D-04)."""
    client = server.client(nlp.client)

    async def follow(began: asyncio.Semaphore) -> list[Any]:
        async with opened(client, "/v1/events") as stream:
            began.release()
            return [block.data["job_id"] for block in await stream.events(3)]

    began = asyncio.Semaphore(0)
    following = [asyncio.create_task(follow(began)) for _ in range(30)]
    for _ in following:
        await began.acquire()
    assert EVENT_STREAMS._value.get() == 30
    jobs = [(await nlp.accepted(body(name=f"job-{number}")))["id"] for number in range(3)]
    assert await asyncio.gather(*following) == [jobs] * 30
    await _until(lambda: EVENT_STREAMS._value.get() == 0)
    assert engine.pool.checkedout() <= 1  # type: ignore[attr-defined]  # the poller's, at this moment


async def test_a_reader_that_goes_away_is_let_go(server: Server, nlp: Any) -> None:
    client = server.client(nlp.client)
    for _ in range(3):
        async with opened(client, "/v1/events"):
            assert EVENT_STREAMS._value.get() == 1
        await _until(lambda: EVENT_STREAMS._value.get() == 0)


async def test_the_servers_stop_ends_streams_at_once(app: FastAPI, nlp: Any, body: Make) -> None:
    server = Server(app)
    async with server.run():
        client = server.client(nlp.client)
        async with opened(client, "/v1/events") as stream, opened(client, "/v1/events") as other:
            app.state.feed.close()
            assert await stream.rest() == []
            assert await other.rest() == []
        headers = {"Accept": "text/event-stream"}
        answer = await client.get("/v1/events", headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"
        assert (await client.get("/v1/events")).status_code == 200


async def test_a_command_that_stops_does_not_wait_for_its_streams(
    app: FastAPI, nlp: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(app)
    async with server.run():
        client = server.client(nlp.client)
        stream = await client.send(
            client.build_request("GET", "/v1/events", headers={"Accept": "text/event-stream"}), stream=True
        )
        reading = asyncio.create_task(stream.aread())
    await asyncio.wait_for(reading, 10)  # ended in full, and not cut
    assert "graceful shutdown exceeded" not in caplog.text


async def test_a_slow_reader_is_cut_and_loses_nothing(
    server: Server, nlp: Any, body: Make, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "SEND_SECONDS", 0.2)
    monkeypatch.setattr(live, "KEPT_EVENTS", 400)
    job = await nlp.accepted(body())
    client = server.client(nlp.client)
    cut_before = EVENT_STREAMS_CUT._value.get()
    with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port or 0)) as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        token = nlp.client.headers["Authorization"]
        request = f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: {token}\r\n\r\n"
        stuck.sendall(request.encode())
        await _until(lambda: EVENT_STREAMS._value.get() == 1)
        async with opened(client, "/v1/events") as stream:
            position = stream.position
            told = asyncio.create_task(stream.until(lambda block: block.data["reason"] == "Last"))
            while EVENT_STREAMS_CUT._value.get() == cut_before:
                await write(sessions, job["id"], 500, message="x" * 1000)
            assert EVENT_STREAMS_CUT._value.get() == cut_before + 1
            await write(sessions, job["id"], 1, reason="Last")
            ids = [block.data["id"] for block in await told]
    assert ids == [event["id"] for event in await listed_all(client, position)]


async def listed_all(client: httpx.AsyncClient, after: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := await listed(client, "/v1/events", after=found[-1]["id"] if found else after):
        found += page
    return found


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - a gauge tells nobody
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "query", [{"limit": "5"}, {"cursor": "x"}, {"type": "nothing"}, {"state": "queued"}, {"a": "1"}]
)
async def test_what_a_stream_does_not_have_is_refused(nlp: Any, query: dict[str, str]) -> None:
    answer = await nlp.client.get("/v1/events", params=query, headers={"Accept": "text/event-stream"})
    assert answer.status_code in {400, 422}
    assert answer.headers["content-type"] == "application/problem+json"


async def test_nobody_follows_another_teams_jobs(nlp: Any, vision: Any, body: Make) -> None:
    job = await nlp.accepted(body())
    for path in (f"/v1/jobs/{job['id']}/events", "/v1/events?team=nlp"):
        answer = await vision.client.get(path, headers={"Accept": "text/event-stream"})
        assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
