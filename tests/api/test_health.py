import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from pydantic import SecretStr
from sqlalchemy import NullPool, event, make_url, text
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app import db as app_db
from app.commands.probes import create_probe_app
from app.db import Sessions, create_engine, create_sessions
from app.main import create_app
from app.settings import Settings

ADMIN_TOKEN = "the-admin-token-of-the-tests"


async def get(app: FastAPI, path: str, headers: dict[str, str] | None = None) -> Any:
    async with AsyncClient(transport=ASGITransport(app), base_url="http://api.test") as client:
        return await client.get(path, headers=headers)


async def test_a_ready_process_says_so_without_a_token(app: FastAPI) -> None:
    assert (await get(app, "/healthz")).json() == {"status": "ok"}
    answer = await get(app, "/readyz")
    assert answer.status_code == 200
    found = answer.json()
    assert (found["ready"], found["missing"], found["database"], found["migrations"]) == (True, [], "ok", "ok")
    nothing = {"leading": False, "lease_expires_at": None, "watches": {}, "cluster": "unknown", "missing_rights": []}
    assert found["controller"] == nothing


async def test_without_migrations_it_is_not_ready_and_says_that(settings: Settings, empty_database_url: str) -> None:
    engine = create_engine(settings.model_copy(update={"database_url": SecretStr(empty_database_url)}))
    app = create_app(settings, create_sessions(engine))
    answer = await get(app, "/readyz")
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert answer.json()["missing"] == ["migrations"]
    await engine.dispose()


@pytest.mark.parametrize(("revision", "status", "migrations"), [("9999", 200, "newer"), (None, 503, "none")])
async def test_a_later_schema_will_do_since_upgrades_run_side_by_side(
    app: FastAPI, sessions: Sessions, revision: str | None, status: int, migrations: str
) -> None:
    async with sessions.begin() as session:
        await session.execute(text("DELETE FROM alembic_version"))
        if revision is not None:
            await session.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": revision})
    answer = await get(app, "/readyz")
    assert (answer.status_code, answer.json()["migrations"]) == (status, migrations)


@pytest.mark.parametrize(
    ("wrong", "state"), [({"database": "nobodys"}, "3D000"), ({"username": "nobody", "password": "hunter2"}, "28000")]
)
async def test_a_database_that_refuses_us_is_as_good_as_away(
    settings: Settings, wrong: dict[str, str], state: str
) -> None:
    url = make_url(settings.async_database_url).set(**wrong).render_as_string(hide_password=False)
    refused = settings.model_copy(update={"database_url": SecretStr(url), "admin_token": SecretStr(ADMIN_TOKEN)})
    engine = create_engine(refused)
    app = create_app(refused, create_sessions(engine))
    readiness = await get(app, "/readyz")
    assert readiness.status_code == 503
    assert readiness.json()["missing"] == ["database"]
    assert readiness.json()["database"] == f"refuses us with SQLSTATE {state}"
    jobs = await get(app, "/v1/jobs", {"Authorization": f"Bearer {ADMIN_TOKEN}"})
    assert (jobs.status_code, jobs.json()["type"]) == (503, "unavailable")
    assert jobs.headers["retry-after"]
    await engine.dispose()


async def test_requests_before_the_migrations_are_told_to_come_back(
    settings: Settings, empty_database_url: str
) -> None:
    engine = create_engine(settings.model_copy(update={"database_url": SecretStr(empty_database_url)}))
    app = create_app(settings.model_copy(update={"admin_token": SecretStr(ADMIN_TOKEN)}), create_sessions(engine))
    answer = await get(app, "/v1/jobs", {"Authorization": f"Bearer {ADMIN_TOKEN}"})
    assert (answer.status_code, answer.json()["type"]) == (503, "unavailable")
    await engine.dispose()


async def test_what_a_statement_carries_stays_out_of_the_text_of_its_error(engine: AsyncEngine) -> None:
    with pytest.raises(DBAPIError) as caught:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT CAST(:secret AS text), 1 / 0"), {"secret": "tok-123"})
    assert "tok-123" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+asyncpg://pumice:hunter2@127.0.0.1:1/pumice",
        "postgresql+asyncpg://postgres@/pumice?host=/nonexistent-directory",
    ],
)
async def test_without_a_database_it_lives_is_not_ready_and_keeps_the_address_to_itself(
    settings: Settings, url: str
) -> None:
    away = settings.model_copy(update={"database_url": SecretStr(url)})
    engine = create_engine(away)
    app = create_app(away, create_sessions(engine))
    assert (await get(app, "/healthz")).status_code == 200
    answer = await get(app, "/readyz")
    assert (answer.status_code, answer.json()["missing"]) == (503, ["database"])
    admin = {"Authorization": f"Bearer {away.admin_token.get_secret_value()}"} if away.admin_token else {}
    member = {"Authorization": "Bearer pum_" + "A" * 43}
    for headers in (admin, member):
        answer = await get(app, "/v1/teams", headers)
        assert (answer.status_code, answer.json()["type"]) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
        assert "hunter2" not in answer.text
        assert "127.0.0.1" not in answer.text
    assert (await get(app, "/v1/teams", {"Authorization": "Bearer garbage"})).status_code == 401
    await engine.dispose()


@pytest.mark.parametrize(("seconds", "leading"), [(60, True), (-60, False)])
async def test_what_the_leader_says_of_itself_is_shown_and_does_not_make_the_api_unready(
    app: FastAPI, sessions: Sessions, seconds: int, leading: bool
) -> None:
    status = {"watches": {"Job": {"synced": False, "age_seconds": 812.5}}, "cluster": "unreachable"}
    async with sessions.begin() as session:
        await session.execute(
            text("INSERT INTO leases VALUES ('controller', :holder, 3, :until, CAST(:status AS jsonb))"),
            {"holder": uuid4(), "until": datetime.now(UTC) + timedelta(seconds=seconds), "status": json.dumps(status)},
        )
    answer = await get(app, "/readyz")
    assert answer.status_code == 200
    controller = answer.json()["controller"]
    assert controller["leading"] is leading
    assert controller["watches"] == status["watches"]
    assert controller["cluster"] == "unreachable"


RIGHT = "The service's account in the cluster lacks the right to list pods cluster-wide."


@pytest.mark.parametrize(
    ("status", "leading", "missing"),
    [
        ({"watches": {"Job": {"synced": True}}, "cluster": "reachable", "missing_rights": []}, True, []),
        ({"watches": {"Job": {"synced": True}}, "cluster": "reachable"}, True, []),
        ({"watches": {"Job": {"synced": False}}, "cluster": "unreachable"}, True, ["watches"]),
        ({"watches": {"Job": {"synced": False}}, "missing_rights": [RIGHT]}, True, ["watches", "rights"]),
        ({"watches": {"Job": {"synced": False}}, "missing_rights": [RIGHT]}, False, []),
    ],
)
async def test_the_controller_is_ready_with_every_watch_and_every_right(
    settings: Settings, sessions: Sessions, status: dict[str, Any], leading: bool, missing: list[str]
) -> None:
    until = datetime.now(UTC) + timedelta(seconds=60 if leading else -60)
    async with sessions.begin() as session:
        await session.execute(
            text("INSERT INTO leases VALUES ('controller', :holder, 3, :until, CAST(:status AS jsonb))"),
            {"holder": uuid4(), "until": until, "status": json.dumps(status)},
        )
    answer = await get(create_probe_app(settings, sessions), "/readyz")
    assert (answer.status_code, answer.json()["missing"]) == (503 if missing else 200, missing)
    assert answer.json()["controller"]["missing_rights"] == status.get("missing_rights", [])
    of_the_api = await get(create_app(settings, sessions), "/readyz")
    assert (of_the_api.status_code, of_the_api.json()["controller"]) == (200, answer.json()["controller"])


async def test_metrics_are_served_here_or_on_a_port_of_their_own(
    app: FastAPI, settings: Settings, sessions: Sessions
) -> None:
    answer = await get(app, "/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert "pumice_jobs_accepted_total" in answer.text
    elsewhere = create_app(settings.model_copy(update={"metrics_port": 9090}), sessions)
    assert (await get(elsewhere, "/metrics")).status_code == 404


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
