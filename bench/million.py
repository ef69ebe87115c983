"""`python -m bench.million`: pages of 50 out of a million jobs, under every filter and every pair of filters.

Teams are of very different sizes, robots submit half of the jobs, names and labels are of every frequency, some of one
time only, and many pairs never meet. Each filter is asked for with frequent, rare and absent values, newest and oldest
first, by an administrator, for the largest team, and for the smallest. Prints one table; asserts nothing.
"""

import argparse
import asyncio
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import asyncpg
from sqlalchemy.engine import make_url

from app.db import create_engine
from app.embedded import EmbeddedPostgres
from app.jobs.schemas import JobCreate
from app.migrate import upgrade
from app.settings import Settings
from bench.load import Measured, closed_loop
from bench.processes import free_port, pumice, wait_until_answers
from bench.world import Service, job_body

ADMIN_TOKEN = "bench-admin-token"
SECONDS = 30
"""Between two jobs, so a million are of a year."""

TEAM_ROWS = """
INSERT INTO teams (name, namespace, created_at, updated_at)
SELECT 'team-' || n, 'of-team-' || n, now(), now() FROM generate_series(0, 39) AS n
"""

JOB_ROWS = """
INSERT INTO jobs (id, team, name, queue, k8s_namespace, k8s_name, spec, charges, charged, priority, priority_rank,
  labels, submitted_by, desired, state, counts, attempt, idempotency_key, request_hash, k8s_uid, created_at,
  released_at, submitted_at, started_at, ended_at, recorded_at, cleaned_at)
SELECT (lpad(to_hex(extract(epoch FROM at)::bigint * 1000), 12, '0') || '7' || lpad(to_hex(n), 19, '0'))::uuid,
  'team-' || team,
  CASE WHEN live OR b % 10 < 5 THEN 'job-' || n WHEN b % 10 < 8 THEN 'nightly-' || c % 50 ELSE 'bulk-score' END,
  CASE WHEN c % 10 < 7 THEN 'q-' || team WHEN c % 10 < 9 THEN 'low-priority' ELSE 'q-' || team || '-batch' END,
  'of-team-' || team, 'job-' || n, $2::jsonb, '{"nvidia.com/gpu": 1}', live, 'normal', 1,
  jsonb_build_object('stage', CASE WHEN a % 10 < 7 THEN 'production' ELSE 'test' END, 'dataset', 'd' || n / 2000,
                     'batch', 'b' || b % 100000)
    || CASE WHEN n <= $1::int / 20 THEN '{"pilot": "yes"}'::jsonb ELSE '{}' END,
  CASE WHEN robot THEN 'robot-' || team ELSE 'u-' || team || '-' || a % 25 END, 'run',
  CASE WHEN live THEN (ARRAY['held', 'held', 'held', 'pending', 'running'])[1 + b % 5] WHEN b % 1000 = 0 THEN 'lost'
       WHEN NOT robot AND c % 12 = 0 THEN 'cancelled'
       WHEN NOT robot AND c % 11 = 1 OR c % 200 = 1 THEN 'failed' ELSE 'succeeded' END,
  '{"pending": 0, "running": 0, "succeeded": 1, "failed": 0}', 1, 'key-' || n, sha256('x'), 'uid-' || n,
  at, at, at, at, ended_at, ended_at, ended_at
FROM (SELECT *, CASE WHEN live THEN NULL ELSE at END AS ended_at
      FROM (SELECT n, a, b, c, floor(40 * power(d % 100000 / 100000.0, 3))::int AS team, b % 2 = 0 AS robot,
                   n > $1 - 2000 OR n % 50000 = 0 AS live, now() - make_interval(secs => ($1 - n) * $3::int) AS at
            FROM (SELECT n, abs(hashint4(n)::bigint) AS a, abs(hashint4(n # 85731)::bigint) AS b,
                         abs(hashint4(n # 1234567)::bigint) AS c, abs(hashint4(n # 7654321)::bigint) AS d
                  FROM generate_series(1, $1::int) AS n) AS random) AS drawn) AS timed
"""

TEAMS = (None, "team-0", "team-39")
GROUPS = ("state", "queue", "submitted_by")

Parameters = list[tuple[str, str]]


def filters(rows: int) -> dict[str, list[Parameters]]:
    """Every documented filter with its values, as query parameters."""
    now = datetime.now(UTC)
    moments = [(now - timedelta(seconds=SECONDS * rows * share)).isoformat() for share in (0.003, 0.5, 0.98)]
    values = {
        "state": ["succeeded", "failed", "running", "lost", "suspended"],
        "queue": ["q-0", "low-priority", "q-39-batch", "nobody"],
        "name": ["job-777", "nightly-7", "bulk-score", "nobody"],
        "label": ["stage=production", "dataset=d3", "batch=b77", "pilot=yes", "pilot=no"],
        "submitted_by": ["robot-0", "robot-7", "u-0-3", "nobody"],
        "created_after": moments,
        "created_before": moments,
    }
    found = {name: [[(name, value)] for value in each] for name, each in values.items()}
    found["state"].append([("state", "failed"), ("state", "cancelled")])
    found["label"].append([("label", "stage=test"), ("label", "pilot=yes")])
    return found


def lists(rows: int, size: int) -> Iterator[tuple[str, list[str]]]:
    """Paths of all lists under `size` filters, by the names of the filters."""
    known = filters(rows)
    for names in itertools.combinations(known, size):
        combined = [list(itertools.chain(*each)) for each in itertools.product(*(known[name] for name in names))]
        yield (
            " + ".join(names) or "none",
            [
                f"/v1/jobs?{urlencode([*each, *([('team', team)] if team else []), ('sort', sort)])}"
                for each, team, sort in itertools.product(combined, TEAMS, ("created_at", "-created_at"))
            ],
        )


async def fill(dsn: str, rows: int) -> None:
    """Write the jobs, as autovacuum leaves them behind."""
    connection = await asyncpg.connect(dsn)
    try:
        spec = JobCreate.model_validate(job_body("of-the-history")).model_dump(mode="json")
        await connection.execute(TEAM_ROWS)
        await connection.execute(JOB_ROWS, rows, json.dumps(spec), SECONDS, timeout=1800)
        for table in ("jobs", "job_labels", "teams"):
            await connection.execute(f"VACUUM ANALYZE {table}", timeout=600)
    finally:
        await asyncio.shield(connection.close())


async def measure(service: Service, paths: list[str], calls: int) -> Measured:
    """GET each of the paths once, then random ones, one after the other."""
    chosen = random.Random(1)
    order = chosen.sample(paths, len(paths)) + chosen.choices(paths, k=max(0, calls - len(paths)))
    async with aiohttp.ClientSession(service.url, headers=service.headers) as session:

        async def call(number: int) -> None:
            async with session.get(order[number]) as answer:
                if answer.status != 200:
                    raise RuntimeError(f"{order[number]} answered {answer.status}: {await answer.text()}")
                await answer.read()

        return await closed_loop([call], total=len(order))


async def run(service: Service, rows: int, calls: int) -> Iterator[str]:
    """The lines of the table."""
    lines = [f"| {rows:,} jobs | calls | p50 ms | p99 ms |", "| --- | --- | --- | --- |"]
    everything: list[float] = []
    for name, paths in itertools.chain(*(lists(rows, size) for size in (0, 1, 2))):
        measured = await measure(service, paths, calls)
        everything += measured.latencies
        lines.append(_line(name, measured))
    lines.append(_line("**all pages**", Measured(len(everything), sum(everything), everything)))
    for group in GROUPS:
        for team in TEAMS:
            path = f"/v1/jobs?group_by={group}" + (f"&team={team}" if team else "")
            lines.append(_line(f"group_by={group}, {team or 'all teams'}", await measure(service, [path], 20)))
    return iter(lines)


def _line(name: str, measured: Measured) -> str:
    return f"| {name} | {measured.calls} | {measured.percentile(50):.1f} | {measured.percentile(99):.1f} |"


def main() -> None:
    """Read the arguments, fill, measure, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--calls", type=int, default=200, help="for each filter and pair, at least")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="pumice-bench-") as scratch:
        postgres = EmbeddedPostgres(Path(scratch) / "postgres")
        try:
            sys.stdout.write(
                "\n".join(asyncio.run(_all(postgres.url, Path(scratch), chosen.rows, chosen.calls))) + "\n"
            )
        finally:
            postgres.stop()


async def _all(url: str, scratch: Path, rows: int, calls: int) -> Iterator[str]:
    engine = create_engine(Settings(database_url=url, _env_file=None))
    await upgrade(engine)
    await engine.dispose()
    await fill(make_url(url).set(drivername="postgresql").render_as_string(), rows)
    port = free_port()
    environment = {"PUMICE_DATABASE_URL": url, "PUMICE_ADMIN_TOKEN": ADMIN_TOKEN}
    with pumice("api", "--port", str(port), environment=environment, log=scratch / "api.log") as api:
        service = Service(f"http://127.0.0.1:{port}", ADMIN_TOKEN)
        wait_until_answers(f"{service.url}/readyz", api)
        return await run(service, rows, calls)


if __name__ == "__main__":
    main()
