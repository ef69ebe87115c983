"""How fast jobs are accepted over HTTP, against plain one-row commits on the same Postgres."""

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from uuid import uuid4

import aiohttp
import asyncpg

from bench.load import Call, Measured, closed_loop
from bench.world import Service, job_body

_BODY = json.dumps({"payload": "x" * 780})


async def plain_commits(dsn: str, connections: int, seconds: float) -> Measured:
    """Insert one row with about 800 bytes of JSON for each commit."""
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(_connection(dsn)) for _ in range(connections)]
        await opened[0].execute("CREATE TABLE IF NOT EXISTS bench_plain (id uuid PRIMARY KEY, body jsonb NOT NULL)")

        def inserting(connection: asyncpg.Connection) -> Call:
            async def call(number: int) -> None:
                await connection.execute("INSERT INTO bench_plain VALUES ($1, $2)", uuid4(), _BODY)

            return call

        return await closed_loop([inserting(connection) for connection in opened], seconds=seconds)


class _connection:  # noqa: N801  used as a context manager only
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    async def __aenter__(self) -> asyncpg.Connection:
        self._open = await asyncpg.connect(self._dsn)
        return self._open

    async def __aexit__(self, *error: object) -> None:
        await self._open.close()


async def accepted_jobs(
    services: Sequence[Service],
    teams: Sequence[str],
    *,
    connections: int,
    seconds: float | None = None,
    total: int | None = None,
    first: int = 0,
) -> Measured:
    """POST one job after the other on each connection, dealt out over services and teams; all answer 201."""

    def submitting(session: aiohttp.ClientSession, team: str) -> Call:
        async def call(number: int) -> None:
            headers = {"Idempotency-Key": f"bench-{number}"}
            body = job_body(f"job-{number}")
            async with session.post(f"/v1/teams/{team}/jobs", json=body, headers=headers) as answer:
                if answer.status != 201:
                    raise RuntimeError(f"Submission answered {answer.status}: {await answer.text()}")

        return call

    async with AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(aiohttp.ClientSession(service.url, headers=service.headers))
            for service in services
        ]
        calls = [
            submitting(sessions[number % len(sessions)], teams[number // len(sessions) % len(teams)])
            for number in range(connections)
        ]
        return await closed_loop(calls, seconds=seconds, total=total, first=first)
