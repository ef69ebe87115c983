"""How fast jobs are accepted a thousand at a time, against a plain COPY of the same rows into a table like theirs."""

import asyncio
import io
import time

import aiohttp
import asyncpg

from bench.load import Measured, closed_loop
from bench.world import Service, job_body

JOBS_PER_CALL = 1_000


async def bulk_jobs(service: Service, team: str, *, calls: int, connections: int, first: int) -> float:
    """POST full requests, all of whose jobs are accepted; returns jobs per second."""

    async def call(number: int) -> None:
        start = first + number * JOBS_PER_CALL
        jobs = [
            {**job_body(f"bulk-{start + index}"), "idempotency_key": f"bulk-{start + index}"}
            for index in range(JOBS_PER_CALL)
        ]
        async with session.post(f"/v1/teams/{team}/jobs/bulk", json={"jobs": jobs}) as answer:
            made = await answer.json()
            if answer.status != 200 or made["accepted"] != JOBS_PER_CALL:
                raise RuntimeError(f"A bulk submission answered {answer.status}: {str(made)[:500]}")

    async with aiohttp.ClientSession(service.url, headers=service.headers) as session:
        measured: Measured = await closed_loop([call] * connections, total=calls)
    return measured.calls * JOBS_PER_CALL / measured.seconds


async def copied_rows(dsn: str, rows: int) -> float:
    """COPY rows of `jobs`, a thousand a transaction, into a table with the same columns, checks and indexes."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("DROP TABLE IF EXISTS bench_copy; CREATE TABLE bench_copy (LIKE jobs INCLUDING ALL)")
        parts = [await _part(connection, offset) for offset in range(0, rows, JOBS_PER_CALL)]
        started = time.perf_counter()
        for part in parts:
            part.seek(0)
            await connection.copy_to_table("bench_copy", source=part, format="binary")
        seconds = time.perf_counter() - started
        copied: int = await connection.fetchval("SELECT count(*) FROM bench_copy")
        return copied / seconds
    finally:
        await asyncio.shield(connection.close())


async def _part(connection: asyncpg.Connection, offset: int) -> io.BytesIO:
    part = io.BytesIO()
    query = f"SELECT * FROM jobs WHERE name LIKE 'bulk-%' ORDER BY id LIMIT {JOBS_PER_CALL} OFFSET {offset}"
    await connection.copy_from_query(query, output=part, format="binary")
    return part
