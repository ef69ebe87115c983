import asyncio
from typing import Any

import pytest

from app.controller import webhooks
from app.jobs.horizon import Horizon
from app.settings import Settings
from app.webhooks.dispatch import Dispatcher


async def until_cancelled(work: Any, seen: asyncio.Event) -> None:
    """Let the work go on until something was seen, and show that it had not ended by itself."""
    task = asyncio.create_task(work)
    async with asyncio.timeout(10):
        await seen.wait()
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_webhooks_never_ends_the_term(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, third = [0], asyncio.Event()

    async def fail(*_: Any) -> None:
        begun[0] += 1
        if begun[0] == 3:
            third.set()
        raise RuntimeError("broken")

    monkeypatch.setattr(webhooks, "send_for_ever", fail)
    monkeypatch.setattr(webhooks, "_PAUSE_SECONDS", 0.0)
    await until_cancelled(webhooks.send_webhooks(Settings(_env_file=None), None), third)


@pytest.mark.parametrize("error", [OSError("the database is away"), KeyError("a mistake of ours")])
async def test_the_dispatcher_outlives_every_error(error: Exception) -> None:
    asked, third = [0], asyncio.Event()

    class Server:
        def transaction(self) -> Any:
            asked[0] += 1
            if asked[0] == 3:
                third.set()
            raise error

    settings = Settings(_env_file=None, work_poll_seconds=0.001)
    await until_cancelled(Dispatcher(settings, Server(), Horizon()).run(), third)
