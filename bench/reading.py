"""How fast one job and a filtered page are read, with a long history behind them."""

import random

import aiohttp
import asyncpg

from bench.load import Measured, closed_loop
from bench.world import Service

HISTORY = """
INSERT INTO jobs (id, team, name, queue, k8s_namespace, k8s_name, spec, charges, charged, priority, priority_rank,
                  labels, submitted_by, desired, state, counts, attempt, created_at, submitted_at, started_at, ended_at,
                  recorded_at, cleaned_at)
SELECT uuidv7(-age), team, 'old-' || n, queue, 'team-' || team, 'old-' || n, spec, charges,
       false, 'normal', 1, jsonb_build_object('dataset', 'd' || n % 50), 'u-' || n % 20, 'run',
       (ARRAY['succeeded', 'failed', 'cancelled'])[1 + n % 3],
       '{"pending": 0, "running": 0, "succeeded": 1, "failed": 0}', 1,
       now() - age, now() - age, now() - age, now() - age, now() - age, now() - age
FROM (SELECT n, make_interval(secs => n) AS age FROM generate_series(1, $1::int) AS n) AS numbers,
     (SELECT team, queue, spec, charges FROM jobs LIMIT 1) AS sample
"""  # uuidv7(interval) is PostgreSQL 18's: an id of that moment


async def make_history(dsn: str, rows: int) -> list[str]:
    """Write `rows` finished jobs that look like the first one, and return some of their ids."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(HISTORY, rows, timeout=300)
        await connection.execute("ANALYZE jobs")
        ids = await connection.fetch("SELECT id FROM jobs WHERE name LIKE 'old-%' ORDER BY random() LIMIT 500")
        return [str(row["id"]) for row in ids]
    finally:
        await connection.close()


async def read_jobs(service: Service, ids: list[str], calls: int) -> Measured:
    """GET single jobs, one after the other."""
    return await _read(service, [f"/v1/jobs/{job}" for job in ids], calls)


async def read_pages(service: Service, team: str, calls: int) -> Measured:
    """GET pages of 50 under several filters, one after the other."""
    filters = [f"team={team}&state=failed", f"team={team}&label=dataset%3Dd7", "state=succeeded", "submitted_by=u-3"]
    return await _read(service, [f"/v1/jobs?limit=50&{one}" for one in filters], calls)


async def _read(service: Service, paths: list[str], calls: int) -> Measured:
    chosen = random.Random(1)
    async with aiohttp.ClientSession(service.url, headers=service.headers) as session:

        async def call(number: int) -> None:
            async with session.get(chosen.choice(paths)) as answer:
                if answer.status != 200:
                    raise RuntimeError(f"Reading answered {answer.status}: {await answer.text()}")
                await answer.read()

        return await closed_loop([call], total=calls)
