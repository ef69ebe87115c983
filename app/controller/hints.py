"""Postgres' notifications as hints to look at once. Whoever misses one finds out at the next poll."""

import asyncio
from collections.abc import Callable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from app.telemetry import get_logger

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
_log = get_logger(__name__)


async def listen(engine: AsyncEngine, channels: dict[str, Callable[[str], None]]) -> None:
    """Call the channel's function with each payload, for ever; a lost connection is opened again.

    The connection is one of its own and not the pool's. Behind a pooler in transaction mode nothing ever arrives.
    """
    own = create_async_engine(engine.url, poolclass=NullPool)
    pause = _FIRST_PAUSE_SECONDS
    try:
        while True:
            try:
                await _listen_once(own, channels)
                pause = _FIRST_PAUSE_SECONDS
            except Exception as error:  # noqa: BLE001 - hints are a comfort: whatever fails here, polling is the truth
                _log.info("hints_away", error=type(error).__name__)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
    finally:
        await own.dispose()


async def _listen_once(own: AsyncEngine, channels: dict[str, Callable[[str], None]]) -> None:
    """Listen until the connection is lost."""
    lost = asyncio.Event()

    def hear(_connection: Any, _process: int, channel: str, payload: str) -> None:
        channels[channel](payload)

    async with own.connect() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        try:
            driver.add_termination_listener(lambda _: lost.set())
            for channel in channels:
                await driver.add_listener(channel, hear)
            await lost.wait()
        finally:
            # a polite end waits for the server's answer, and so for ever when it has fallen silent
            driver.terminate()
            await connection.invalidate()
