import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from app.auth import service
from app.auth.tokens import digest
from app.db import Sessions, create_engine, create_sessions
from app.main import create_app
from app.problems import route_contexts
from app.settings import Settings

PUBLIC = {"/healthz", "/readyz", "/metrics", "/docs", "/docs/oauth2-redirect", "/redoc", "/openapi.json"}


def protected_routes(app: FastAPI) -> list[tuple[str, str]]:
    """Every (method, path) of the OpenAPI document that needs a token, with made-up parameters."""
    found = []
    for path, operations in app.openapi()["paths"].items():
        if path not in PUBLIC:
            filled = path.replace("{team}", "nlp").replace("{queue}", "q-nlp")
            while "{" in filled:
                filled = filled[: filled.index("{")] + str(uuid4()) + filled[filled.index("}") + 1 :]
            found += [(method.upper(), filled) for method in operations]
    return found


def assert_challenged(answer: Any, method: str, path: str) -> None:
    assert answer.status_code == 401, (method, path, answer.text)
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "unauthenticated"


async def test_every_route_refuses_every_kind_of_bad_token_before_it_looks_at_the_body(
    app: FastAPI, api: Any, sessions: Sessions
) -> None:
    await api.make_team("nlp")
    expired = (await api.make_token("nlp", "manager"))["token"]
    revoked = await api.make_token("nlp", "manager")
    async with sessions.begin() as session:
        past = {"hash": digest(expired), "at": datetime.now(UTC) - timedelta(seconds=1)}
        await session.execute(text("UPDATE tokens SET expires_at = :at WHERE token_hash = :hash"), past)
    assert (await api.admin.delete(f"/v1/tokens/{revoked['id']}")).status_code == 204
    stranger = api.client(None)
    bad = [
        {},
        {"Authorization": "Basic dXNlcjpwYXNz"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer garbage"},
        {"Authorization": "Bearer pum_" + "A" * 43},
        {"Authorization": "Bearer " + "ü".encode("latin-1").decode("latin-1")},
        {"Authorization": f"Bearer {expired}"},
        {"Authorization": f"Bearer {revoked['token']}"},
    ]
    routes = protected_routes(app)
    assert len(routes) >= 12
    for method, path in routes:
        for headers in bad:
            encoded = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
            answer = await stranger.request(
                method, path, content=b"{not json", headers={b"content-type": b"application/json", **encoded}
            )
            assert_challenged(answer, method, path)


def test_no_route_is_reachable_without_a_token_by_oversight(app: FastAPI) -> None:
    document = app.openapi()
    for route in route_contexts(app):
        if route.path in PUBLIC:
            continue
        assert route.path.startswith("/v1/"), route.path
        for method in route.methods:
            assert document["paths"][route.path][method.lower()]["security"] == [{"bearer": []}], (method, route.path)


async def test_a_path_that_does_not_exist_is_not_told_to_strangers(api: Any) -> None:
    assert_challenged(await api.client(None).get("/v1/nothing"), "GET", "/v1/nothing")
    assert (await api.admin.get("/v1/nothing")).status_code == 404


async def test_two_authorization_headers_are_refused(api: Any) -> None:
    client = api.client(None)
    headers = [("Authorization", "Bearer a"), ("Authorization", "Bearer b")]
    assert_challenged(await client.get("/v1/tokens", headers=headers), "GET", "/v1/tokens")


async def test_the_scheme_may_be_written_in_any_case(api: Any) -> None:
    token = api.admin.headers["authorization"].removeprefix("Bearer ")
    answer = await api.client(None).get("/v1/tokens", headers={"Authorization": f"bEARER {token}"})
    assert answer.status_code == 200


async def test_a_token_is_shown_once_and_stored_as_a_hash(api: Any, sessions: Sessions) -> None:
    await api.make_team("nlp")
    created = await api.make_token("nlp", "submitter", name="pipeline")
    assert created["token"].startswith("pum_")
    assert (created["subject"], created["team"], created["role"]) == ("u-nlp", "nlp", "submitter")
    assert created["created_by"] == "bootstrap-admin"
    listed = (await api.admin.get("/v1/tokens")).json()["items"]
    assert [item["id"] for item in listed] == [created["id"]]
    assert created["token"] not in json.dumps(listed)
    async with sessions() as session:
        rows = (await session.execute(text("SELECT tokens::text FROM tokens"))).scalars().all()
    assert created["token"] not in str(rows)


async def test_a_revoked_token_stops_at_once_though_it_was_just_verified(api: Any) -> None:
    await api.make_team("nlp")
    created = await api.make_token("nlp", "viewer")
    member = api.client(created["token"])
    assert (await member.get("/v1/teams/nlp")).status_code == 200
    assert (await api.admin.delete(f"/v1/tokens/{created['id']}")).status_code == 204
    assert (await member.get("/v1/teams/nlp")).status_code == 401
    assert (await api.admin.delete(f"/v1/tokens/{created['id']}")).status_code == 204
    assert (await api.admin.get("/v1/tokens")).json()["items"][0]["revoked_at"] is not None


async def test_a_token_ends_at_its_expiry_also_when_it_is_remembered(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await api.make_team("nlp")
    moment = datetime.now(UTC) + timedelta(seconds=0.2)
    member = await api.member("nlp", "viewer", expires_at=moment.isoformat())
    statuses = []
    while not statuses or statuses[-1] != 401:
        asked_at = datetime.now(UTC)
        statuses.append((await member.get("/v1/teams/nlp")).status_code)
        assert asked_at < moment or statuses[-1] == 401


async def test_an_expiry_is_answered_in_utc_in_whatever_zone_it_came(api: Any) -> None:
    await api.make_team("nlp")
    made = await api.make_token("nlp", "viewer", expires_at="2999-01-01T05:30:00+05:30")
    assert made["expires_at"] == "2999-01-01T00:00:00Z"
    assert (await api.admin.get("/v1/tokens")).json()["items"][0]["expires_at"] == made["expires_at"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"role": "owner"}, "/role"),
        ({"role": "admin"}, ""),
        ({"team": None}, ""),
        ({"team": "nobody"}, "/team"),
        ({"name": ""}, "/name"),
        ({"subject": "a\nb"}, "/subject"),
        ({"subject": 7}, "/subject"),
        ({"expires_at": "2026-01-01T00:00:00"}, "/expires_at"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "/expires_at"),
        ({"expires_at": 4102444800}, "/expires_at"),
        ({"token_hash": "x"}, "/token_hash"),
        ({"id": str(uuid4())}, "/id"),
    ],
)
async def test_a_token_that_cannot_be_is_refused(api: Any, change: dict[str, object], pointer: str) -> None:
    await api.make_team("nlp", gpus=None)
    body = {"name": "t", "subject": "u", "team": "nlp", "role": "viewer", **change}
    answer = await api.admin.post("/v1/tokens", json=body)
    assert answer.status_code == 422, answer.text
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
    assert (await api.admin.get("/v1/tokens")).json()["items"] == []


@pytest.mark.parametrize(
    ("caller", "team", "role", "status"),
    [
        ("manager", "nlp", "manager", 201),
        ("manager", "nlp", "viewer", 201),
        ("manager", "vision", "viewer", 404),
        ("manager", None, "admin", 403),
        ("submitter", "nlp", "submitter", 403),
        ("viewer", "nlp", "viewer", 403),
    ],
)
async def test_who_may_make_which_token(api: Any, caller: str, team: str | None, role: str, status: int) -> None:
    await api.make_team("nlp", gpus=None)
    await api.make_team("vision", gpus=None)
    member = await api.member("nlp", caller)
    answer = await member.post("/v1/tokens", json={"name": "t", "subject": "u", "team": team, "role": role})
    assert answer.status_code == status, answer.text


async def test_managers_see_and_revoke_tokens_of_their_own_team_only(api: Any) -> None:
    await api.make_team("nlp", gpus=None)
    await api.make_team("vision", gpus=None)
    other = await api.make_token("vision", "viewer")
    own = await api.make_token("nlp", "viewer")
    manager = await api.member("nlp", "manager")
    listed = (await manager.get("/v1/tokens")).json()["items"]
    assert {item["team"] for item in listed} == {"nlp"}
    assert (await manager.delete(f"/v1/tokens/{other['id']}")).status_code == 404
    assert (await manager.delete(f"/v1/tokens/{own['id']}")).status_code == 204
    assert (await (await api.member("nlp", "submitter")).get("/v1/tokens")).status_code == 403
    assert (await (await api.member("nlp", "viewer")).delete(f"/v1/tokens/{own['id']}")).status_code == 403


async def test_an_admin_token_belongs_to_no_team_and_may_do_everything(api: Any) -> None:
    admin = await api.member(None, "admin")
    assert (await admin.post("/v1/queues", json={"name": "q"})).status_code == 201


async def test_without_a_bootstrap_token_an_empty_one_does_not_get_in(settings: Settings, sessions: Sessions) -> None:
    app = create_app(settings.model_copy(update={"admin_token": None}), sessions)
    async with AsyncClient(transport=ASGITransport(app), base_url="http://api.test") as client:
        for value in ("Bearer", "Bearer ", "Bearer None", "Bearer ''"):
            assert (await client.get("/v1/tokens", headers={"Authorization": value})).status_code == 401


async def test_a_token_costs_one_query_and_none_while_it_is_remembered(api: Any, engine: AsyncEngine) -> None:
    await api.make_team("nlp", gpus=None)
    member = await api.member("nlp", "viewer")
    asked: list[str] = []
    event.listen(engine.sync_engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert (await member.get("/v1/teams/nlp")).status_code == 200
    assert sum("FROM tokens" in statement for statement in asked) == 1
    asked.clear()
    assert (await member.get("/v1/teams/nlp")).status_code == 200
    assert not [statement for statement in asked if "FROM tokens" in statement]


async def test_only_so_many_tokens_are_remembered(api: Any, monkeypatch: pytest.MonkeyPatch, app: FastAPI) -> None:
    monkeypatch.setattr(service, "CACHE_SIZE", 3)
    for _ in range(6):
        assert (await (await api.member(None, "admin")).get("/v1/teams")).status_code == 200
    assert len(app.state.authenticator._verified) == 3


async def test_one_connection_is_enough_for_token_and_handler_together(settings: Settings, api: Any) -> None:
    """A request that held one connection and waited for a second could wait for ever, with all others like it."""
    await api.make_team("nlp", gpus=None)
    tokens = [(await api.make_token("nlp", "viewer"))["token"] for _ in range(8)]
    single = settings.model_copy(update={"database_pool_size": 1})
    engine = create_engine(single)
    transport = ASGITransport(create_app(single, create_sessions(engine)))
    async with AsyncClient(transport=transport, base_url="http://api.test") as client:
        headers = [{"Authorization": f"Bearer {token}"} for token in tokens]
        answers = await asyncio.gather(*(client.get("/v1/teams/nlp", headers=given) for given in headers))
    assert {answer.status_code for answer in answers} == {200}
    await engine.dispose()
