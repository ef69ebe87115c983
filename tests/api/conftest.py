"""Fixtures of the HTTP tests: the real application over a real Postgres, called in-process."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from pydantic import SecretStr

from app.db import Sessions
from app.main import create_app
from app.settings import Settings

ADMIN_TOKEN = "the-admin-token-of-the-tests"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"admin_token": SecretStr(ADMIN_TOKEN)})


@pytest.fixture
def app(settings: Settings, sessions: Sessions) -> FastAPI:
    return create_app(settings, sessions)


class Api:
    """The application, and clients that call it with different tokens. Factories assert that they worked."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._clients: list[AsyncClient] = []
        self.admin = self.client(ADMIN_TOKEN)

    def client(self, token: str | None) -> AsyncClient:
        """A client with this token, or with none."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        # what the application raises it must answer itself: httpx would otherwise hand it to the test
        transport = ASGITransport(self._app, raise_app_exceptions=False)
        client = AsyncClient(transport=transport, base_url="http://api.test", headers=headers)
        self._clients.append(client)
        return client

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()

    async def make_queue(self, name: str, **fields: Any) -> dict[str, Any]:
        """A queue with 8 GPUs unless `fields` say otherwise."""
        body = {"name": name, "capability": {"nvidia.com/gpu": 8}, **fields}
        return await self._create("/v1/queues", body)

    async def make_team(self, name: str, *, queues: list[str] | None = None, gpus: int | None = 8) -> dict[str, Any]:
        """A team with namespace `team-<name>`, queue `q-<name>` unless named, and a quota of `gpus` (None: none)."""
        if queues is None:
            queues = [f"q-{name}"]
            await self.make_queue(queues[0])
        body = {
            "name": name,
            "namespace": f"team-{name}",
            "queues": queues,
            "default_queue": queues[0] if queues else None,
        }
        team = await self._create("/v1/teams", body)
        if gpus is not None:
            limits = {"nvidia.com/gpu": {"per_job": gpus, "outstanding": gpus}}
            answer = await self.admin.put(f"/v1/teams/{name}/quota", json={"limits": limits, "max_jobs": 100})
            assert answer.status_code == 200, answer.text
        return team

    async def make_token(self, team: str | None, role: str, **fields: Any) -> dict[str, Any]:
        """A new token as its creation answers it; the subject is `u-<team>`."""
        body = {"name": "tests", "subject": f"u-{team or 'admin'}", "team": team, "role": role, **fields}
        return await self._create("/v1/tokens", body)

    async def member(self, team: str, role: str = "submitter", **fields: Any) -> AsyncClient:
        """A client with a new token of this team."""
        return self.client((await self.make_token(team, role, **fields))["token"])

    async def _create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self.admin.post(path, json=body)
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created


@pytest.fixture
async def api(app: FastAPI) -> AsyncIterator[Api]:
    api = Api(app)
    yield api
    await api.close()


@pytest.fixture
def client(api: Api) -> AsyncClient:
    """A client with the bootstrap admin token."""
    return api.admin
