"""Open event streams: how late each change reaches each of them, and what the api process needs for that.

The hard case: every stream follows everything, so that each change is delivered as many times as there are streams.
"""

import asyncio
import re
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import aiohttp
import asyncpg
import psutil

from bench.load import Measured
from bench.world import Service

_WRITERS = 4
_PATIENCE_SECONDS = 60.0
_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)
_DATA = b"\ndata: "

_WRITE = """
    INSERT INTO job_events (job_id, team, at, type, state, reason, message)
    SELECT id, team, now(), 'state', state, 'Bench', 'a sentence of an ordinary length with 2 numbers in it'
    FROM jobs WHERE team = $1 ORDER BY id LIMIT 1 RETURNING id
"""


@dataclass
class _Reader:
    """What one stream received: when, from which id to which, and how many."""

    parts: list[tuple[float, list[int]]] = field(default_factory=list)
    count: int = 0

    def take(self, at: float, text: bytes) -> None:
        ids = [int(found) for found in _ID.findall(text)][: text.count(_DATA)]
        if ids:
            self.parts.append((at, ids))
            self.count += len(ids)


@dataclass(frozen=True)
class Streamed:
    """Every delivery's delay, from before its INSERT was sent, and the most memory that the process had (in MB)."""

    measured: Measured
    resident_mb: float


async def streamed_changes(
    service: Service, dsn: str, team: str, *, streams: int, per_second: float, seconds: float
) -> Streamed:
    """Open streams, write changes at a steady pace, and wait until each stream has had each of them once.

    Raises:
        RuntimeError: a stream missed an event, had one twice, or had them in another order.
    """
    async with AsyncExitStack() as stack:
        connector = aiohttp.TCPConnector(limit=0)
        session = await stack.enter_async_context(
            aiohttp.ClientSession(service.url, headers=service.headers, connector=connector, read_bufsize=2**20)
        )
        readers = [_Reader() for _ in range(streams)]
        opened = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(_follow(session, reader, opened)) for reader in readers]
        for _ in tasks:
            await asyncio.wait_for(opened.acquire(), _PATIENCE_SECONDS)
        process = psutil.Process(service.pid)
        started = time.perf_counter()
        written = await _write(dsn, team, per_second, seconds)
        resident = process.memory_info().rss
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while any(reader.count < len(written) for reader in readers) and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
            resident = max(resident, process.memory_info().rss)
        took = time.perf_counter() - started
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    delays = _delays(readers, written)
    return Streamed(Measured(len(delays), took, delays), resident / 2**20)


async def _follow(session: aiohttp.ClientSession, reader: _Reader, opened: asyncio.Semaphore) -> None:
    async with session.get("/v1/events", headers={"Accept": "text/event-stream"}, timeout=None) as answer:
        answer.raise_for_status()
        rest = b""
        async for chunk in answer.content.iter_any():
            at = time.perf_counter()
            whole, end, rest = (rest + chunk).rpartition(b"\n\n")
            if whole.startswith(b": pumice"):
                opened.release()
            reader.take(at, whole + end)


async def _write(dsn: str, team: str, per_second: float, seconds: float) -> dict[int, float]:
    """Write changes, each a transaction of its own, and return when each was begun, by its id."""
    written: dict[int, float] = {}
    total = int(per_second * seconds)
    began = time.perf_counter()
    numbers = iter(range(total))

    async def write(connection: asyncpg.Connection) -> None:
        for number in numbers:
            await asyncio.sleep(max(0.0, began + number / per_second - time.perf_counter()))
            before = time.perf_counter()
            written[await connection.fetchval(_WRITE, team)] = before

    connections = [await asyncpg.connect(dsn) for _ in range(_WRITERS)]
    await asyncio.gather(*(write(connection) for connection in connections))
    for connection in connections:
        await connection.close()
    return written


def _delays(readers: list[_Reader], written: dict[int, float]) -> list[float]:
    expected = sorted(written)
    delays: list[float] = []
    for reader in readers:
        if [one for _, ids in reader.parts for one in ids] != expected:
            raise RuntimeError(f"A stream had {reader.count} events for {len(expected)} changes, or in another order.")
        delays += [at - written[one] for at, ids in reader.parts for one in ids]
    return delays
