import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from pydantic import SecretStr
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

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
