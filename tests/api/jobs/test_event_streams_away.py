"""Streams while their Postgres is killed and comes back."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import create_async_engine

from app.auth import service as auth_service
from app.jobs import event_stream, live
from app.migrate import upgrade
from tests.api.jobs.streams import Server, opened
from tests.crash.own_postgres import OwnPostgres


@pytest.fixture
def postgres() -> Iterator[OwnPostgres]:
    with tempfile.TemporaryDirectory(prefix="p-") as directory:
        postgres = OwnPostgres(Path(directory) / "postgres")
        yield postgres
        postgres.stop()


@pytest.fixture
async def database_url(postgres: OwnPostgres) -> AsyncIterator[str]:
    engine = create_async_engine(postgres.url, poolclass=NullPool)
    await upgrade(engine)
    await engine.dispose()
    return postgres.url


async def test_streams_stay_open_while_postgres_is_away_and_go_on_without_a_gap(
    app: FastAPI, nlp: Any, body: Any, postgres: OwnPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(auth_service, "CACHE_SECONDS", 0.0)
    monkeypatch.setattr(live, "_AWAY_SECONDS", 0.05)
    server = Server(app)
    async with server.run():
        client = server.client(nlp.client)
        first = await nlp.accepted(body(name="first"))
        async with opened(client, "/v1/events", after=0) as stream, opened(client, "/v1/events") as other:
            (event,) = await stream.events(1)
            assert event.data["job_id"] == first["id"]
            await asyncio.to_thread(postgres.kill)
            refused = await client.get("/v1/events", headers={"Accept": "text/event-stream"})
            assert (refused.status_code, refused.json()["type"]) == (503, "unavailable")
            for _ in range(3):
                assert not (await stream.block()).is_event
            await asyncio.to_thread(postgres.start)
            second = await nlp.accepted(body(name="second"))
            assert [event.data["job_id"] for event in await stream.events(1)] == [second["id"]]
            assert [event.data["job_id"] for event in await other.events(1)] == [second["id"]]
            job_path = f"/v1/jobs/{first['id']}/events"
            async with opened(client, job_path) as behind:
                assert [event.data["job_id"] for event in await behind.events(1)] == [first["id"]]
