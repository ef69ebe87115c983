"""When a command stops, and how hard: the first Ctrl-C or SIGTERM asks, the second one does not wait any longer."""

import asyncio
import math
import signal
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

PATIENCE_SECONDS = 7.0
"""How long all parts together may take to end by themselves; so that everything has stopped within ten seconds."""

_T = TypeVar("_T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(Exception):
    """The person at the terminal stopped the command before it was done."""


class Stopping:
    """Two moments: `asked`, at which everything begins to stop, and `hurried`, from which nothing waits."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hurried = asyncio.Event()
        self._patience_ends_at = math.inf

    def ask(self) -> None:
        """Ask for the stop; a second time, for a harder one."""
        if self.asked.is_set():
            self.hurried.set()
        else:
            self._patience_ends_at = time.monotonic() + PATIENCE_SECONDS
            self.asked.set()

    def check(self) -> None:
        """Raise `Stopped` when the stop was asked for."""
        if self.asked.is_set():
            raise Stopped

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Ask at SIGINT (Ctrl-C) and SIGTERM. Needs the running loop of the main thread."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.ask)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    async def unless_asked(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return what the work returns, or cancel it when the stop is asked for.

        Raises:
            Stopped: the stop was asked for before the work was done.
        """
        task = asyncio.ensure_future(work)
        await self._until_done(task, self.asked, None)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
        if task.cancelled():
            raise Stopped
        return task.result()

    async def grace(self, task: "asyncio.Future[Any]", seconds: float) -> bool:
        """Wait for a task that was told to end: for so many seconds, until hurried, or until the patience for all ends.

        Returns whether it ended.
        """
        await self._until_done(task, self.hurried, max(0.0, min(seconds, self._patience_ends_at - time.monotonic())))
        return task.done()

    async def _until_done(self, task: "asyncio.Future[Any]", event: asyncio.Event, seconds: float | None) -> None:
        happens = asyncio.create_task(event.wait())
        try:
            await asyncio.wait([task, happens], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            happens.cancel()
