"""Fixtures of the replays: a scripted cluster over HTTP, and Postgres with the recording's clock."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from app.cluster import informer_step
from app.cluster.client import ClusterSettings, open_client
from app.controller import queues_sync, run, term
from app.db import Sessions
from app.settings import Settings
from tests.replay.api_server import ApiServer
from tests.replay.clock import PostgresClock
from tests.replay.cluster import Cluster
from tests.replay.play import Play
from tests.replay.recording import load
from tests.replay.watched import Mischief
from tests.replay.world import World

pytest.register_assert_rewrite("tests.replay.checks")

MakePlay = Callable[..., Awaitable[Play]]


@pytest.fixture
def replay_settings(database_url: str) -> Settings:
    return Settings(
        database_url=database_url,
        database_pool_size=8,
        release_window="off",
        sweep_seconds=3600.0,
        work_poll_seconds=1.0,
        priorities={"low": "batch-low", "normal": None, "high": "batch-high"},
        kept_log_lines=0,  # nothing was recorded of what the pods printed
        _env_file=None,
    )


@pytest.fixture
async def make_play(
    replay_settings: Settings,
    database_url: str,
    engine: AsyncEngine,
    sessions: Sessions,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[MakePlay]:
    """Make a play of a scenario, with the controller not yet started."""
    # each event is a look of its own, and a watch that was ended is not waited for
    monkeypatch.setattr(term, "COALESCE_SECONDS", 0.0)
    monkeypatch.setattr(informer_step, "FIRST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(queues_sync, "WRITE_SECONDS", 0.2)
    async with PostgresClock.of(database_url) as clock, AsyncExitStack() as stack:

        async def make(name: str, mischief: Mischief | None = None) -> Play:
            recording = load(name)
            cluster = Cluster(mischief)
            made: list[Play] = []
            server = ApiServer(cluster, lambda: made[0].moment)
            url = await stack.enter_async_context(server.running())
            client = await stack.enter_async_context(open_client(ClusterSettings(url=url)))
            world = World(replay_settings, sessions, engine, client, cluster)
            stack.push_async_callback(world.stop)
            monkeypatch.setattr(run, "Term", world.begin_term)
            made.append(Play(recording, world, clock))
            await made[0].prepare()
            return made[0]

        yield make
