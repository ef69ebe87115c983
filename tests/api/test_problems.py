import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from app.db import Sessions
from app.main import create_app
from app.problems import render_problems_markdown
from app.settings import Settings

GPU = "nvidia.com/gpu"
JSON = {"content-type": "application/json"}


def strict(answer: Any) -> Any:
    """The answer, read by a parser that takes no NaN."""

    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    return json.loads(answer.content.decode(), parse_constant=refuse)


def problem(answer: Any, status: int, kind: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = strict(answer)
    assert found["type"] == kind
    assert found["status"] == status
    return found


def writes(app: FastAPI) -> list[tuple[str, str]]:
    """Every (method, path) that takes a body, with made-up ids."""
    found = []
    for path, operations in app.openapi()["paths"].items():
        filled = re.sub(r"\{\w*id\}", str(uuid4()), path).replace("{team}", "nlp").replace("{queue}", "q-nlp")
        found += [(method.upper(), filled) for method, route in operations.items() if "requestBody" in route]
    return found


async def test_a_problem_has_exactly_the_members_of_the_contract(client: AsyncClient) -> None:
    answer = await client.get("/v1/teams/nobody?", headers={"X-Request-ID": "abc-1"})
    assert problem(answer, 404, "not-found") == {
        "type": "not-found",
        "title": "No such object",
        "status": 404,
        "detail": "There is no such team.",
        "instance": "/v1/teams/nobody",
        "request_id": "abc-1",
    }
    assert answer.headers["x-request-id"] == "abc-1"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "a\tb", "<script>"])
async def test_an_odd_request_id_is_replaced(client: AsyncClient, given: str) -> None:
    answer = await client.get("/healthz", headers={"X-Request-ID": given})
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


async def test_a_validation_error_names_places_and_codes_and_repeats_no_value(client: AsyncClient) -> None:
    body = {"name": "tok-123!", "namespace": ["tok-123"], "default_queue": "TOK-123", "x/y~z": "tok-123"}
    answer = await client.post("/v1/teams", json=body)
    found = problem(answer, 422, "validation-error")
    places = {fault["pointer"]: fault["code"] for fault in found["errors"]}
    assert places == {
        "/name": "dns-label",
        "/namespace": "string-type",
        "/default_queue": "dns-subdomain",
        "/x~1y~0z": "extra-forbidden",
    }
    assert "tok-123" not in answer.text.lower()
    assert {"pointer", "detail", "code"} == set(found["errors"][0])


async def test_no_value_comes_back_from_any_write_route(app: FastAPI, client: AsyncClient) -> None:
    secret = "tok-123-secret"
    for method, path in writes(app):
        for body in (
            secret,
            [secret],
            {"name": {"a": secret}},
            {"tasks": [{"env": {"HF_TOKEN": secret}, "replicas": "x"}]},
        ):
            answer = await client.request(method, path, json=body)
            assert 400 <= answer.status_code < 500, (method, path, answer.text)
            assert secret not in answer.text


async def test_numbers_that_json_does_not_have_are_refused_on_every_write_route(
    app: FastAPI, client: AsyncClient
) -> None:
    routes = writes(app)
    assert len(routes) >= 6
    for method, path in routes:
        for body in (
            b'{"replicas": NaN}',
            b'{"replicas": -Infinity}',
            b'{"priority": 1e400}',
            b'{"annotations": {"x": NaN}}',
            b"{",
            b'{"name": "a", "name": "b"}',
        ):
            answer = await client.request(method, path, content=body, headers=JSON)
            problem(answer, 400, "invalid-json")


async def test_characters_that_postgres_cannot_store_are_refused(client: AsyncClient) -> None:
    for text in (rb"\u0000", rb"\ud800"):
        body = b'{"name": "t", "subject": "a' + text + b'", "role": "admin"}'
        found = problem(await client.post("/v1/tokens", content=body, headers=JSON), 422, "validation-error")
        assert found["errors"][0]["pointer"] == "/subject"


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/yaml"])
async def test_bodies_that_are_not_called_json_are_refused(client: AsyncClient, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    answer = await client.post("/v1/queues", content=b'{"name": "q"}', headers=headers)
    assert "application/json" in problem(answer, 415, "unsupported-media-type")["detail"]


async def test_a_missing_body_is_said_to_be_missing(client: AsyncClient) -> None:
    found = problem(await client.post("/v1/queues", headers=JSON), 422, "validation-error")
    assert found["errors"] == [{"pointer": "", "detail": "The body: This is required.", "code": "missing"}]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_above_the_limit_is_refused_before_it_is_read(
    client: AsyncClient, settings: Settings, chunked: bool
) -> None:
    sent = 0
    chunk = b"x" * 65_536

    async def chunks() -> Any:
        nonlocal sent
        for _ in range(800):
            sent += len(chunk)
            yield chunk

    headers = JSON if chunked else {**JSON, "content-length": str(800 * len(chunk))}
    answer = await client.post("/v1/queues", content=chunks(), headers=headers)
    found = problem(answer, 413, "body-too-large")
    assert found["limit"] == settings.max_body_bytes
    assert str(settings.max_body_bytes) in found["detail"]
    assert sent <= settings.max_body_bytes + 2 * len(chunk)


@pytest.mark.parametrize("path", ["/v1/teams", "/v1/queues", "/v1/tokens", "/v1/jobs"])
async def test_unknown_query_parameters_are_refused_everywhere(client: AsyncClient, path: str) -> None:
    answer = await client.get(f"{path}?staet=failed&limit=5")
    found = problem(answer, 422, "validation-error")
    assert [(fault["pointer"], fault["code"]) for fault in found["errors"]] == [("/query/staet", "unknown-parameter")]


async def test_a_write_takes_no_query_parameters_it_does_not_know(client: AsyncClient) -> None:
    answer = await client.post("/v1/queues?dry_run=true", json={"name": "q"})
    problem(answer, 422, "validation-error")
    assert (await client.get("/v1/queues")).json()["items"] == []


@pytest.mark.parametrize("path", ["/v1/teams", "/v1/queues", "/v1/tokens", "/v1/jobs"])
@pytest.mark.parametrize("limit", ["0", "-1", "1000000000", "501", "abc", "10.5", "", "%00", "1e2", "9" * 5000])
async def test_bad_limits_are_named(client: AsyncClient, path: str, limit: str) -> None:
    found = problem(await client.get(f"{path}?limit={limit}"), 422, "validation-error")
    assert [fault["pointer"] for fault in found["errors"]] == ["/query/limit"]


@pytest.mark.parametrize("path", ["/v1/teams", "/v1/queues", "/v1/tokens", "/v1/jobs"])
@pytest.mark.parametrize("cursor", ["x", "bm9uc2Vuc2U", "WyJmIiwiayJd", "%C3%BC", "", "W1tbW1tb"])
async def test_made_up_cursors_are_refused(client: AsyncClient, path: str, cursor: str) -> None:
    problem(await client.get(f"{path}?cursor={cursor}"), 400, "invalid-cursor")


async def test_nul_in_a_query_is_refused(client: AsyncClient) -> None:
    found = problem(await client.get("/v1/teams?cursor=a%00b"), 422, "validation-error")
    assert found["errors"][0]["pointer"] == "/query/cursor"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/teams", "GET, POST"),
        ("DELETE", "/v1/queues", "GET, POST"),
        ("POST", "/v1/queues/q", "GET, PATCH"),
        ("HEAD", "/v1/teams", "GET, POST"),
        ("OPTIONS", "/v1/teams/nlp/quota", "GET, PUT"),
        ("PUT", "/v1/jobs", "GET"),
    ],
)
async def test_a_method_that_a_path_does_not_take_is_told_those_that_it_does(
    client: AsyncClient, method: str, path: str, allowed: str
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed
    assert "location" not in answer.headers


@pytest.mark.parametrize("path", ["/v1/teams/", "/v1/queues/", "/v1/jobs/", "/v1/tokens/", "//v1/teams", "/v1//teams"])
async def test_a_trailing_slash_is_another_path_and_never_a_redirect(client: AsyncClient, path: str) -> None:
    answer = await client.get(f"http://api.test{path}", headers={"X-Forwarded-Proto": "https"})
    problem(answer, 404, "not-found")
    assert "location" not in answer.headers


@pytest.mark.parametrize("made_up", ["1", "..%2F..", "x%00", "%E2%80%AE", "a" * 300, "NaN", "null"])
async def test_ids_that_are_none_lead_nowhere(client: AsyncClient, made_up: str) -> None:
    for method, path in (
        ("DELETE", f"/v1/tokens/{made_up}"),
        ("GET", f"/v1/jobs/{made_up}"),
        ("POST", f"/v1/jobs/{made_up}/cancel"),
        ("GET", f"/v1/queues/{made_up}"),
    ):
        assert (await client.request(method, path)).status_code in {404, 422}


async def test_behind_a_prefix_paths_work_with_and_without_it(settings: Settings, sessions: Sessions) -> None:
    app = create_app(settings.model_copy(update={"root_path": "/pumice"}), sessions)
    assert settings.admin_token is not None
    headers = {"Authorization": f"Bearer {settings.admin_token.get_secret_value()}"}
    async with AsyncClient(transport=ASGITransport(app), base_url="http://api.test", headers=headers) as client:
        created = await client.post("/v1/queues", json={"name": "q"})
        assert created.headers["location"] == "/pumice/v1/queues/q"
        assert (await client.get("/pumice/v1/queues/q")).status_code == 200
        assert (await client.put("/pumice/v1/queues/q")).headers["allow"] == "GET, PATCH"
    async with AsyncClient(transport=ASGITransport(app), base_url="http://api.test") as stranger:
        assert (await stranger.get("/pumice/v1/queues")).status_code == 401
        assert (await stranger.get("/v1/queues")).status_code == 401
        assert (await stranger.get("/pumice/openapi.json")).json()["servers"] == [{"url": "/pumice"}]


async def test_what_nobody_foresaw_is_answered_with_the_request_id_alone(
    app: FastAPI, client: AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    @app.get("/v1/broken")
    async def broken() -> None:
        raise RuntimeError("postgresql://user:hunter2@db.internal/pumice")

    answer = await client.get("/v1/broken", headers={"X-Request-ID": "r-1"})
    found = problem(answer, 500, "internal-error")
    assert set(found) == {"type", "title", "status", "detail", "instance", "request_id"}
    assert found["request_id"] == "r-1"
    assert "hunter2" not in answer.text + caplog.text
    assert "Traceback" not in answer.text


async def test_the_document_is_valid_and_says_what_routes_answer(app: FastAPI, client: AsyncClient) -> None:
    document = strict(await client.get("/openapi.json"))
    assert document["openapi"].startswith("3.1")
    text = json.dumps(document)
    assert "HTTPValidationError" not in text
    for reference in re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', text):
        assert reference in document["components"]["schemas"]
    operations = [
        (path, method, route) for path, routes in document["paths"].items() for method, route in routes.items()
    ]
    names = [route["operationId"] for _, _, route in operations]
    assert len(names) == len(set(names))
    assert {"submit_job", "create_team", "put_quota", "list_queues"} <= set(names)
    for path, method, route in operations:
        assert route["tags"], (path, method)
        if path.startswith("/v1/"):
            for status in ("400", "401", "403", "404", "413", "415", "422", "500", "503"):
                content = route["responses"][status]["content"]
                assert content == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, (
                    path,
                    method,
                    status,
                )


async def test_the_pages_of_the_document_are_served(client: AsyncClient) -> None:
    assert (await client.get("/docs")).status_code == 200


def test_the_handbook_of_problems_has_every_type_once() -> None:
    text = render_problems_markdown()
    committed = Path(__file__).parents[2] / "docs" / "problems.md"
    assert committed.read_text(encoding="utf-8") == text, "write it anew with app.problems.render_problems_markdown"
    types = re.findall(r"^\| \d{3} \| `([a-z-]+)` \|", text, flags=re.MULTILINE)
    assert len(types) == len(set(types))
    assert {"quota-exceeded", "invalid-json", "precondition-required", "cluster-unavailable", "internal-error"} <= set(
        types
    )
