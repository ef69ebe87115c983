import asyncio
import os
import signal

import pytest

from app.commands import parts
from app.commands import stopping as stopping_module
from app.commands.failure import CommandFailed
from app.commands.parts import ready_or_failed, running, until_stopped
from app.commands.stopping import Stopped, Stopping


async def test_the_first_signal_asks_and_the_second_hurries() -> None:
    stopping = Stopping()
    with stopping.on_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stopping.asked.wait(), 5)
        assert not stopping.hurried.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(stopping.hurried.wait(), 5)
    with pytest.raises(Stopped):
        stopping.check()


async def test_work_is_cancelled_when_the_stop_is_asked_for() -> None:
    stopping = Stopping()
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    waiting = asyncio.create_task(stopping.unless_asked(work()))
    await begun.wait()
    stopping.ask()
    with pytest.raises(Stopped):
        await waiting
    assert cancelled.is_set()


async def test_work_that_is_done_gives_its_result_and_its_error() -> None:
    async def fails() -> None:
        raise CommandFailed("It broke.")

    stopping = Stopping()
    assert await stopping.unless_asked(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(CommandFailed, match="It broke"):
        await stopping.unless_asked(fails())


async def test_a_part_is_told_to_end_and_waited_for() -> None:
    ended = asyncio.Event()

    async def part(stop: asyncio.Event) -> None:
        await stop.wait()
        ended.set()

    async with running("part", part, Stopping()) as task:
        assert not task.done()
    assert ended.is_set()


async def stubborn(stop: asyncio.Event) -> None:
    await asyncio.Event().wait()


async def test_a_part_that_does_not_end_is_cancelled_after_its_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "GRACE_SECONDS", 0.01)
    async with running("part", stubborn, Stopping()) as task:
        pass
    assert task.cancelled()


async def test_a_hurried_stop_gives_no_grace() -> None:
    stopping = Stopping()
    stopping.ask()
    stopping.ask()
    async with running("part", stubborn, stopping) as task:
        pass
    assert task.cancelled()


async def test_all_parts_share_one_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping_module, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(parts, "GRACE_SECONDS", 3600.0)
    stopping = Stopping()
    stopping.ask()
    async with running("one", stubborn, stopping) as one, running("other", stubborn, stopping) as other:
        pass
    assert one.cancelled()
    assert other.cancelled()


async def test_a_part_that_ends_by_itself_is_a_failure() -> None:
    async def breaks(stop: asyncio.Event) -> None:
        raise RuntimeError("secret")

    stopping = Stopping()
    async with running("controller", breaks, stopping) as task:
        with pytest.raises(CommandFailed, match=r"^The controller ended by itself; its log says why\.$"):
            await until_stopped(stopping, task)
        with pytest.raises(CommandFailed):
            await ready_or_failed(stopping, asyncio.sleep(60), task)


async def test_waiting_for_ready_ends_with_it_or_with_the_stop() -> None:
    stopping = Stopping()
    async with running("part", stubborn, stopping) as task:
        await ready_or_failed(stopping, asyncio.sleep(0), task)
        stopping.ask()
        with pytest.raises(Stopped):
            await ready_or_failed(stopping, asyncio.sleep(60), task)
        await until_stopped(stopping, task)
        stopping.ask()
