"""The long-running parts of a command: each is one task that is told to end, given a while, and then cancelled."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import uvloop

from app.commands.failure import CommandFailed
from app.commands.stopping import Stopping
from app.telemetry import get_logger

GRACE_SECONDS = 4.0
"""How long one part may take to end by itself."""

_CANCEL_SECONDS = 1.0
_T = TypeVar("_T")
_log = get_logger(__name__)

Part = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
"""Works until the event is set."""


def run(main: Callable[[Stopping], Coroutine[Any, Any, _T]]) -> _T:
    """Run a command's coroutine on uvloop, with Ctrl-C and SIGTERM asking it to stop.

    Raises:
        Stopped: it was stopped before it was done.
    """

    async def with_signals() -> _T:
        stopping = Stopping()
        with stopping.on_signals():
            return await main(stopping)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(with_signals())


@asynccontextmanager
async def running(name: str, part: Part, stopping: Stopping) -> AsyncIterator["asyncio.Task[None]"]:
    """Run a part beside the caller. At the end it is told to end, then cancelled, and it is gone."""
    stop = asyncio.Event()
    task = asyncio.create_task(part(stop), name=name)
    try:
        yield task
    finally:
        stop.set()
        if not await stopping.grace(task, GRACE_SECONDS):
            _log.warning("part_cancelled", part=name)
            task.cancel()
            await asyncio.wait([task], timeout=_CANCEL_SECONDS)
        if task.done() and not task.cancelled() and task.exception() is not None:
            _log.error("part_failed", part=name, exc_info=task.exception())


async def until_stopped(stopping: Stopping, *tasks: "asyncio.Task[None]") -> None:
    """Wait until the stop is asked for.

    Raises:
        CommandFailed: a part ended before that.
    """
    await _first(stopping.asked.wait(), tasks)


async def ready_or_failed(stopping: Stopping, ready: Awaitable[None], *tasks: "asyncio.Task[None]") -> None:
    """Wait for `ready`.

    Raises:
        CommandFailed: a part ended before that.
        Stopped: the stop was asked for before that.
    """
    await stopping.unless_asked(_first(ready, tasks))


async def _first(awaited: Awaitable[Any], tasks: "tuple[asyncio.Task[None], ...]") -> None:
    waiting = asyncio.ensure_future(awaited)
    try:
        await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                raise CommandFailed(f"The {task.get_name()} ended by itself; its log says why.")
        await waiting
    finally:
        waiting.cancel()
