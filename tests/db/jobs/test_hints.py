"""What is told to the controller when a job is accepted and when it is cancelled."""

import asyncio
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from app.controller.hints import listen
from app.jobs import cancellation
from app.jobs.transitions import ACCEPTED_CHANNEL, CHANNEL, notify


async def test_an_accepted_job_asks_for_a_release_and_only_a_cancelled_one_for_a_look(
    team: Any, engine: AsyncEngine
) -> None:
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    channels = {
        name: lambda payload, name=name: heard.put_nowait((name, payload)) for name in (CHANNEL, ACCEPTED_CHANNEL)
    }
    task = asyncio.create_task(listen(engine, channels))
    try:
        async with asyncio.timeout(20):
            await _until_it_listens(team, heard)
            job_id = (await team.submit("a")).row["id"]
            assert await _next(heard, str(job_id)) == ACCEPTED_CHANNEL
            await cancellation.cancel(team.sessions, job_id, "nlp", None)
            assert await _next(heard, str(job_id)) == CHANNEL
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _until_it_listens(team: Any, heard: "asyncio.Queue[tuple[str, str]]") -> None:
    while heard.empty():
        async with team.sessions.begin() as session:
            await notify(session, "are you there")
        await asyncio.sleep(0.02)


async def _next(heard: "asyncio.Queue[tuple[str, str]]", payload: str) -> str:
    """The channel of the next notification about a job."""
    while True:
        channel, said = await heard.get()
        if said == payload:
            return channel
