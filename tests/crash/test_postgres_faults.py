"""Postgres that falls silent, or refuses, while the controller works."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from app import db
from app.controller.run import run_controller
from app.db import create_engine, create_sessions
from app.settings import Settings
from tests.crash.lines import TcpLine

# several waits, each of which may need long on a busy machine
pytestmark = pytest.mark.timeout(240)


@pytest.fixture
async def line(database_url: str) -> AsyncIterator[TcpLine]:
    url = make_url(database_url)
    if "host" not in url.query or not str(url.query["host"]).startswith("/"):
        pytest.skip("PostgreSQL is not reached by a socket of this machine")
    path = f"{url.query['host']}/.s.PGSQL.{url.query['port']}"
    line = TcpLine(lambda: asyncio.open_unix_connection(path))
    await line.start()
    yield line
    line.speak()
    await line.cut()


@pytest.fixture
def over_the_line(database_url: str, line: TcpLine, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings that reach Postgres over the line alone; three seconds is as long as anybody waits for an answer."""
    monkeypatch.setattr(db, "COMMAND_TIMEOUT_SECONDS", 3.0)
    url = make_url(database_url).set(host="127.0.0.1", port=line.port, query={})
    return Settings(database_url=url.render_as_string(hide_password=False), _env_file=None)


@pytest.fixture
async def controller(world: Any, over_the_line: Settings) -> AsyncIterator["asyncio.Task[None]"]:
    settings = world.settings.model_copy(update={"database_url": over_the_line.database_url})
    engine, stop = create_engine(settings), asyncio.Event()
    task = asyncio.create_task(run_controller(settings, create_sessions(engine), engine, world.client, stop=stop))
    yield task
    stop.set()
    # where Postgres is silent, each connection in use is given up after three seconds, some of them one after the other
    await asyncio.wait_for(task, 60)
    await engine.dispose()


async def test_a_statement_on_a_connection_that_died_in_silence_ends_and_the_next_one_has_another(
    line: TcpLine, over_the_line: Settings
) -> None:
    engine = create_engine(over_the_line)
    sessions = create_sessions(engine)
    async with sessions() as session:
        await session.execute(text("SELECT 1"))
    line.forget()
    async with asyncio.timeout(30):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which class it is, is_away alone knows
            async with sessions() as session:
                await session.execute(text("SELECT 1"))
        assert db.is_away(caught.value)
        async with sessions() as session:
            assert (await session.execute(text("SELECT 1"))).scalar_one() == 1
        await engine.dispose()


async def test_connections_that_died_in_silence_are_given_up(
    world: Any, line: TcpLine, controller: "asyncio.Task[None]"
) -> None:
    await world.make_team()
    first = await world.submit("first", command="sleep 20")
    await world.until_state(first, "running")
    line.forget()
    later = await world.submit("later")
    for job_id in (first, later):
        assert (await world.until_state(job_id, "succeeded", "failed", "lost")).state == "succeeded"
    assert len(world.created) == 2
    assert not controller.done()


@pytest.mark.parametrize("fault", ["silent", "cut"])
async def test_the_controller_waits_for_postgres_and_goes_on_by_itself(
    world: Any, line: TcpLine, controller: "asyncio.Task[None]", fault: str
) -> None:
    await world.make_team()
    running = [await world.submit(f"job-{index}", command="sleep 20") for index in range(3)]
    for job_id in running:
        await world.until_state(job_id, "running")
    if fault == "silent":
        line.silence()
    else:
        await line.cut()

    async def lease_ran_out() -> bool:
        async with world.sessions() as session:
            return (await session.execute(text("SELECT expires_at < now() FROM leases"))).scalar_one()

    await world.until(lease_ran_out)
    later = await world.submit("later")
    if fault == "silent":
        line.speak()
    else:
        await line.start()
    for job_id in (*running, later):
        row = await world.until_state(job_id, "succeeded", "failed", "lost")
        assert (row.state, row.attempt) == ("succeeded", 1)
    assert len(world.created) == 4
    assert not controller.done()


async def test_a_silent_postgres_does_not_keep_another_controller_from_leading(
    world: Any, line: TcpLine, controller: "asyncio.Task[None]"
) -> None:
    await world.make_team()
    first = await world.submit("first", command="sleep 20")
    await world.until_state(first, "running")
    line.silence()
    world.start()
    second = await world.submit("second")
    for job_id in (first, second):
        assert (await world.until_state(job_id, "succeeded", "failed", "lost")).state == "succeeded"
    assert len(world.created) == 2
    assert not controller.done()
