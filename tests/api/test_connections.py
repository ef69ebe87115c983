import asyncio
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from sqlalchemy import NullPool, event, make_url, text
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_connection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app import db as app_db
from app.db import Sessions, create_engine, create_sessions
from app.main import create_app
from app.settings import Settings


async def test_cut_connections_are_replaced_without_a_failed_request(api: Any, database_url: str) -> None:
    """Postgres restarts or fails over: the pool's idle connections are dead, and nobody may notice."""
    await asyncio.gather(*(api.admin.get("/v1/teams") for _ in range(5)))
    url = make_url(database_url)
    engine = create_async_engine(url.set(database="postgres"), poolclass=NullPool)
    async with engine.connect() as connection:
        cut = await connection.execute(
            text("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = :name"),
            {"name": url.database},
        )
        assert cut.scalar_one() >= 1
    await engine.dispose()
    answers = await asyncio.gather(*(api.admin.get("/v1/teams") for _ in range(10)))
    assert {answer.status_code for answer in answers} == {200}


async def test_a_connection_cut_in_the_middle_of_a_request_is_503_and_the_next_one_works(
    app: FastAPI, api: Any, sessions: Sessions
) -> None:
    from app.dependencies import Transaction  # noqa: PLC0415

    @app.post("/v1/cut")
    async def cut(session: Transaction) -> None:
        await session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    answer = await api.admin.post("/v1/cut")
    assert (answer.status_code, answer.json()["type"]) == (503, "unavailable")
    assert answer.headers["retry-after"]
    assert (await api.admin.get("/v1/teams")).status_code == 200


async def test_a_commit_that_fails_is_never_answered_with_success(app: FastAPI, api: Any, sessions: Sessions) -> None:
    """The commit comes before the answer: a constraint that is only checked there must not turn up behind a 201."""
    async with sessions.begin() as session:
        await session.execute(
            text(
                "CREATE FUNCTION break_promise() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'no commit today'; END $$"
            )
        )
        await session.execute(
            text(
                "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON queues DEFERRABLE INITIALLY DEFERRED "
                "FOR EACH ROW EXECUTE FUNCTION break_promise()"
            )
        )
    answer = await api.admin.post("/v1/queues", json={"name": "q"})
    assert (answer.status_code, answer.json()["type"]) == (500, "internal-error")
    assert "no commit today" not in answer.text
    assert (await api.admin.get("/v1/queues")).json()["items"] == []
    async with sessions.begin() as session:
        await session.execute(text("DROP TRIGGER at_commit ON queues"))
    assert (await api.admin.post("/v1/queues", json={"name": "q"})).status_code == 201


async def test_a_used_up_pool_is_503_and_not_a_hang(settings: Settings, sessions: Sessions) -> None:
    """More at once than connections, each held for long: those who wait too long are told to come back (D-04)."""
    few = settings.model_copy(update={"database_pool_size": 2, "database_pool_timeout_seconds": 0.2})
    engine = create_engine(few)
    app = create_app(few, create_sessions(engine))
    all_out = asyncio.Event()

    @event.listens_for(engine.sync_engine, "checkout")
    def _count(*_: object) -> None:
        if engine.pool.checkedout() == 2:  # type: ignore[attr-defined]
            all_out.set()

    assert few.admin_token is not None
    headers = {"Authorization": f"Bearer {few.admin_token.get_secret_value()}"}
    async with sessions.begin() as session:
        await session.execute(text("LOCK TABLE queues IN ACCESS EXCLUSIVE MODE"))
        transport = ASGITransport(app)
        async with AsyncClient(transport=transport, base_url="http://api.test", headers=headers) as client:
            stuck = [asyncio.create_task(client.get("/v1/queues")) for _ in range(2)]
            await asyncio.wait_for(all_out.wait(), timeout=10)
            answers = await asyncio.gather(*(client.get("/v1/teams") for _ in range(4)))
            assert {answer.status_code for answer in answers} == {503}
            assert all(answer.headers["retry-after"] for answer in answers)
            await session.rollback()
            assert {answer.status_code for answer in await asyncio.gather(*stuck)} == {200}
            assert (await client.get("/v1/teams")).status_code == 200
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    await engine.dispose()


async def test_connections_come_back_after_requests_that_end_badly(app: FastAPI, api: Any, sessions: Sessions) -> None:
    await api.make_team("nlp")
    member = await api.member("nlp", "viewer")
    bad = [
        lambda: api.admin.post("/v1/queues", json={"name": "q-nlp"}),
        lambda: api.admin.post("/v1/queues", json={"name": 1}),
        lambda: api.admin.get("/v1/teams/nobody"),
        lambda: member.get("/v1/queues/nobody"),
        lambda: member.post("/v1/teams", json={}),
    ]
    answers = await asyncio.gather(*(call() for call in bad for _ in range(40)))
    assert {answer.status_code for answer in answers} == {403, 404, 409, 422}
    assert sessions.kw["bind"].pool.checkedout() == 0
    assert (await api.admin.get("/v1/teams/nlp")).status_code == 200


async def test_a_connection_that_was_idle_for_long_is_asked_first_and_replaced_when_it_is_silent(
    api: Any, engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await api.admin.get("/v1/teams")).status_code == 200
    opened = []
    event.listen(engine.sync_engine, "connect", lambda *_: opened.append(1))
    monkeypatch.setattr(app_db, "IDLE_SECONDS", -1.0)
    assert (await api.admin.get("/v1/teams")).status_code == 200
    assert not opened
    pings = []

    def silent(self: object) -> None:
        pings.append(1)
        raise TimeoutError

    monkeypatch.setattr(AsyncAdapt_asyncpg_connection, "ping", silent)
    assert (await api.admin.get("/v1/teams")).status_code == 200
    assert (len(pings), len(opened)) == (1, 1)
