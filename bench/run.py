"""`make bench`: the service measured against plain floors in the same run. Prints one table; asserts nothing."""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy.engine import make_url

from app.cluster.manifest import ManifestInput, render
from app.db import create_engine, new_id
from app.embedded import EmbeddedPostgres
from app.jobs.schemas import JobCreate
from app.migrate import upgrade
from app.settings import Settings
from bench.accepting import accepted_jobs, plain_commits
from bench.bulk import JOBS_PER_CALL, bulk_jobs, copied_rows
from bench.logs import FOLLOWERS, followed_logs
from bench.processes import free_port, pumice, wait_until_answers
from bench.reading import make_history, read_jobs, read_pages
from bench.releasing import fresh_cluster, plain_creates, released_jobs
from bench.report import Line, at_least, below, shown
from bench.report import render as render_table
from bench.streams import streamed_changes
from bench.world import Service, job_body, make_team

ACCEPT_TARGET = 0.15
API_PROCESSES = 2
TEAMS = tuple(f"team-{number}" for number in range(4))
RELEASE_TARGET = 0.8
REAL_CREATE_SECONDS = 0.09
"""What a create took on a real kube-apiserver 1.36 with Volcano 1.15 and sixteen in flight, on a machine like this."""

BULK_CALLS = 10
BULK_TARGET = 0.5
BULK_JOBS_A_SECOND = 4_000
PAGE_P99_MS = 30
MEMORY_MB = 200
STREAMS = 200
CHANGES_PER_SECOND = 500
STREAM_SECONDS = 8.0
STREAM_P99_MS = 1000
STREAM_MEMORY_MB = 300
LOG_BYTES_A_SECOND = 10_000_000
LOG_SECONDS = 15.0
LOG_TARGET = 0.95
LOG_GROWTH_MB = 20
ADMIN_TOKEN = "bench-admin-token"


class Bench:
    """One run over one fresh Postgres. Each comparison alternates with its floor, round by round; medians are told."""

    def __init__(self, scratch: Path, *, seconds: float, rounds: int, history: int, jobs: int) -> None:
        self._scratch = scratch
        self._seconds = seconds
        self._rounds = rounds
        self._history = history
        self._jobs = jobs
        self._accepted = 0
        self._postgres = EmbeddedPostgres(scratch / "postgres")
        self._url = self._postgres.url
        parsed = make_url(self._url)
        self._dsn = parsed.set(drivername="postgresql").render_as_string()

    async def run(self) -> list[Line]:
        """Measure everything and return the table's lines."""
        engine = create_engine(Settings(database_url=self._url, _env_file=None))
        await upgrade(engine)
        await engine.dispose()
        try:
            with ExitStack() as stack:
                services = [stack.enter_context(self._api()) for _ in range(API_PROCESSES)]
                for team in TEAMS:
                    make_team(services[0], team, gpus=8)
                reading = await self._read(services[0])
                lines = [
                    await self._accept(services[:processes], connections)
                    for processes in (1, API_PROCESSES)
                    for connections in (2, 16)
                ]
                lines.append(await self._bulk(services[0]))
                lines += reading
            lines += await self._stream()
            lines += await self._logs()
            return lines + await self._release()
        finally:
            self._postgres.stop()

    @contextmanager
    def _api(self) -> Iterator[Service]:
        port = free_port()
        environment = {"PUMICE_DATABASE_URL": self._url, "PUMICE_ADMIN_TOKEN": ADMIN_TOKEN}
        with pumice("api", "--port", str(port), environment=environment, log=self._scratch / "api.log") as api:
            service = Service(f"http://127.0.0.1:{port}", ADMIN_TOKEN, api.pid)
            wait_until_answers(f"{service.url}/readyz", api)
            yield service

    async def _accept(self, services: list[Service], connections: int) -> Line:
        plain, accepted = [], []
        for _ in range(self._rounds):
            plain.append((await plain_commits(self._dsn, connections, self._seconds)).per_second)
            measured = await accepted_jobs(
                services, TEAMS, connections=connections, seconds=self._seconds, first=self._accepted
            )
            self._accepted += measured.calls + connections
            accepted.append(measured.per_second)
        return at_least(
            f"jobs accepted, {connections} connections, {len(services)} api process{'es' * (len(services) > 1)}",
            statistics.median(accepted),
            statistics.median(plain),
            ACCEPT_TARGET,
            unit="jobs/s",
            floor_name="plain commits/s",
        )

    async def _bulk(self, service: Service) -> Line:
        bulk, copied = [], []
        for number in range(self._rounds):
            first = number * BULK_CALLS * JOBS_PER_CALL
            bulk.append(await bulk_jobs(service, TEAMS[0], calls=BULK_CALLS, connections=2, first=first))
            copied.append(await copied_rows(self._dsn, BULK_CALLS * JOBS_PER_CALL))
        return at_least(
            "jobs accepted 1,000 at a time, 2 connections, 1 api process",
            statistics.median(bulk),
            statistics.median(copied),
            min(BULK_TARGET, BULK_JOBS_A_SECOND / statistics.median(copied)),  # whichever is lower
            unit="jobs/s",
            floor_name="rows/s by COPY",
        )

    async def _read(self, service: Service) -> list[Line]:
        await accepted_jobs([service], TEAMS, connections=1, total=1, first=10_000_000)  # what the history copies
        ids = await make_history(self._dsn, self._history)
        one = await read_jobs(service, ids, 1000)
        page = await read_pages(service, TEAMS[0], 1000)
        rows = f"{self._history:,} rows of history"
        return [
            shown(f"read one job, p50, {rows}", one.percentile(50), unit="ms"),
            shown(f"read one job, p99, {rows}", one.percentile(99), unit="ms"),
            shown(f"filtered page of 50, p50, {rows}", page.percentile(50), unit="ms"),
            below(f"filtered page of 50, p99, {rows}", page.percentile(99), PAGE_P99_MS, unit="ms"),
        ]

    async def _stream(self) -> list[Line]:
        with self._api() as service:
            streamed = await streamed_changes(
                service, self._dsn, TEAMS[0], streams=STREAMS, per_second=CHANGES_PER_SECOND, seconds=STREAM_SECONDS
            )
        what = f"each of {CHANGES_PER_SECOND} changes/s on each of {STREAMS} streams"
        return [
            shown(f"{what}, p50", streamed.measured.percentile(50), unit="ms"),
            below(f"{what}, p99", streamed.measured.percentile(99), STREAM_P99_MS, unit="ms"),
            below(f"api memory with {STREAMS} streams", streamed.resident_mb, STREAM_MEMORY_MB, unit="MB"),
        ]

    async def _logs(self) -> list[Line]:
        found = await followed_logs(
            self._scratch, self._url, self._dsn, ADMIN_TOKEN, rate=LOG_BYTES_A_SECOND, seconds=LOG_SECONDS
        )
        megabytes = LOG_BYTES_A_SECOND / 1_000_000
        return [
            at_least(
                f"{FOLLOWERS} logs followed that print {megabytes:.0f} MB/s together, 1 api process",
                found.megabytes_per_second,
                megabytes,
                LOG_TARGET,
                unit="MB/s",
                floor_name="MB/s printed",
            ),
            below("growth of its memory meanwhile", found.grown_megabytes, LOG_GROWTH_MB, unit="MB"),
            shown("its memory", found.resident_megabytes, unit="MB"),
            shown("its processor time for each second", found.processor_seconds_per_second, unit="s"),
        ]

    async def _release(self) -> list[Line]:
        with self._api() as service:
            make_team(service, "release", gpus=800)
        memory: list[float] = []
        lines = [await self._release_to(seconds, memory) for seconds in (0.0, REAL_CREATE_SECONDS)]
        return [*lines, below(f"controller memory with {self._jobs:,} live jobs", max(memory), MEMORY_MB, unit="MB")]

    async def _release_to(self, create_seconds: float, memory: list[float]) -> Line:
        manifests = [_manifest(number) for number in range(self._jobs)]
        plain, released = [], []
        for _ in range(self._rounds):
            with fresh_cluster(self._scratch, create_seconds) as cluster:
                plain.append((await plain_creates(cluster, "release", manifests)).per_second)
            await self._hold_jobs()
            with fresh_cluster(self._scratch, create_seconds) as cluster:
                rate, resident = await released_jobs(cluster, self._scratch, self._url, self._dsn, self._jobs)
            released.append(rate)
            memory.append(resident)
        slow = f", {create_seconds * 1000:.0f} ms for each create" if create_seconds else ""
        return at_least(
            f"{self._jobs:,} jobs released to the simulated cluster{slow}",
            statistics.median(released),
            statistics.median(plain),
            RELEASE_TARGET,
            unit="jobs/s",
            floor_name="plain creates/s",
        )

    async def _hold_jobs(self) -> None:
        """Empty the tables and accept the jobs that the next controller will find."""
        connection = await asyncpg.connect(self._dsn)
        await connection.execute("TRUNCATE jobs, job_events, job_pods, job_log_tails, team_usage, leases CASCADE")
        await connection.close()
        with self._api() as service:
            await accepted_jobs([service], ["release"], connections=8, total=self._jobs)


def _manifest(number: int) -> dict[str, Any]:
    """What the controller sends for such a job, by the same pure function."""
    return render(
        ManifestInput(
            job_id=new_id(),
            installation_id=new_id(),
            team="release",
            namespace="team-release",
            name=f"plain-{number}",
            queue="release",
            priority_class=None,
            ttl_seconds=86_400,
            spec=JobCreate.model_validate(job_body(f"plain-{number}")),
        )
    )


def main() -> None:
    """Read the arguments, run, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=4.0, help="length of one accept measurement")
    arguments.add_argument("--rounds", type=int, default=3, help="rounds of each comparison; medians are told")
    arguments.add_argument("--history", type=int, default=100_000, help="finished jobs in the table")
    arguments.add_argument("--jobs", type=int, default=1000, help="jobs to release")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="pumice-bench-") as scratch:
        bench = Bench(
            Path(scratch), seconds=chosen.seconds, rounds=chosen.rounds, history=chosen.history, jobs=chosen.jobs
        )
        sys.stdout.write(render_table(asyncio.run(bench.run())) + "\n")


if __name__ == "__main__":
    main()
