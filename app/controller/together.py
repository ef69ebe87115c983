"""Running coroutines side by side, where the first error ends them all."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def run_together(*parts: Coroutine[Any, Any, None]) -> None:
    """Run the parts until one of them ends, then cancel the others.

    An error passes as it is, also one that is no `Exception` (a failpoint's `Crash`): an `asyncio.TaskGroup` would wrap
    it. The others only get to close what they hold.
    """
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
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
