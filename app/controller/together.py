"""Running coroutines side by side, where the first error ends them all."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from app.telemetry import get_logger

CLOSING_SECONDS = 8.0
"""How long parts that are cancelled may take to close what they hold."""

_log = get_logger(__name__)


async def run_together(*parts: Coroutine[Any, Any, None]) -> None:
    """Run the parts until one of them ends, then cancel the others.

    An error passes as it is, also one that is no `Exception` (a failpoint's `Crash`): an `asyncio.TaskGroup` would wrap
    it. The others only get to close what they hold, and are not waited for for ever: one that was cancelled in the
    middle of a statement to a silent Postgres waits for an answer to its cancel request, which may never come. What it
    might still write is refused by the fence.
    """
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        closed, left = await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
        await asyncio.gather(*closed, return_exceptions=True)  # the first error is told below, these are only taken
        if left:
            _log.warning("parts_left_behind", parts=len(left))
    for task in done:
        task.result()


async def wait_for_event(event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event, `seconds` at the most, and clear it; True when it was set."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True
