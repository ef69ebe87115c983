"""Cases from public bug reports: a member who calls over HTTP, and where needed a controller and a cluster behind."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from fastapi import FastAPI

from app.cluster.client import ClusterSettings
from app.cluster.opening import lazy_pod_logs
from app.db import Sessions
from app.logs.service import Logs
from app.settings import Settings
from tests.cases.stage import Stage
from tests.cases.watched import WatchedApi
from tests.crash.world import World
from tests.fixtures.api import Api, app, client, settings
from tests.fixtures.members import body, nlp, vision
from tests.fixtures.world import world

__all__ = ["api", "app", "body", "client", "nlp", "settings", "vision", "world"]

LOG_MAX_BYTES = 24 * 2**20
"""Five of these together are more than the memory that reading them may take."""


@pytest.fixture
async def api(app: FastAPI) -> AsyncIterator[Api]:
    """The application, whose every answer is looked at, and which still works when the test is over."""
    api = WatchedApi(app)
    yield api
    assert (await api.admin.get("/v1/jobs")).status_code == 200
    assert (await api.admin.get("/readyz")).status_code == 200
    await api.close()


@pytest.fixture
async def stage(nlp: Any, body: Callable[..., dict[str, Any]], world: World) -> AsyncIterator[Stage]:
    """The team nlp with a cluster of three nodes of two GPUs, and no controller yet; one that starts lives on."""
    yield Stage(nlp, body, world)
    assert not any(task.done() for _, task in world._stops)


@pytest.fixture
async def logs(world: World, app: FastAPI, settings: Settings, sessions: Sessions) -> AsyncIterator[Logs]:
    """The application can read the logs of the world's pods."""
    async with lazy_pod_logs(ClusterSettings(url=world.cluster.url), streams=40) as upstream:
        bounded = settings.model_copy(update={"log_max_bytes": LOG_MAX_BYTES})
        app.state.logs = Logs(bounded, sessions, upstream)
        yield app.state.logs
