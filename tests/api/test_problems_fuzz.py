"""Made-up requests for every operation of the document: no 500, and no answer that the document does not have."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, settings
from pydantic import SecretStr
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.db import create_engine, create_sessions
from app.main import create_app
from app.settings import Settings

ADMIN_TOKEN = "the-admin-token-of-the-fuzz-tests"
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
EXISTING = {"team": "nlp", "queue": "q-nlp"}
OBJECTS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/queues", {"name": "q-nlp"}),
    ("POST", "/v1/teams", {"name": "nlp", "namespace": "team-nlp", "queues": ["q-nlp"]}),
    ("PUT", "/v1/teams/nlp/quota", {"limits": {"nvidia.com/gpu": {"outstanding": 8}}}),
]


def _document() -> dict[str, Any]:
    unused = Settings(_env_file=None)
    return create_app(unused, create_sessions(create_engine(unused))).openapi()


schema = schemathesis.openapi.from_dict(_document()).include(path_regex="^/v1/")
CHECKS: list[CheckFunction] = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


class _Server(threading.Thread):
    """The application on a free port of loopback, with an event loop and a pool of its own."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(daemon=True)
        self._settings = settings
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server: uvicorn.Server | None = None
        self._started = threading.Event()

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        engine = create_engine(self._settings)
        app = create_app(self._settings, create_sessions(engine))
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        self._started.set()
        await self._server.serve([self._socket])
        await engine.dispose()

    def stop(self) -> None:
        assert self._started.wait(timeout=10)
        assert self._server is not None
        self._server.should_exit = True
        self.join(timeout=10)
        with contextlib.suppress(OSError):
            self._socket.close()


@pytest.fixture
def server(database_url: str) -> Iterator[str]:
    given = Settings(database_url=SecretStr(database_url), admin_token=SecretStr(ADMIN_TOKEN), _env_file=None)
    server = _Server(given)
    server.start()
    with httpx.Client(base_url=server.url, headers=ADMIN) as admin:
        for method, path, body in OBJECTS:
            assert admin.request(method, path, json=body).is_success
    yield server.url
    server.stop()


@schema.parametrize()
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
def test_no_request_gets_an_answer_that_the_document_does_not_have(case: schemathesis.Case, server: str) -> None:
    for name in case.path_parameters.keys() & EXISTING.keys():
        case.path_parameters[name] = EXISTING[name]  # made-up names lead nowhere; test_teams.py has the odd ones
    response = case.call(base_url=server, headers=ADMIN)
    case.validate_response(response, checks=CHECKS)
