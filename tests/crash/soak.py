"""The soak: the service as processes, steady work, random faults at random moments, and the check every few minutes.

`python -m tests.crash.soak --minutes 30 --seed 1 [--simulated] [--write]`; `make soak` runs it.
"""

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import pytest

from app.cluster.client import ClusterSettings, open_client
from app.cluster.errors import ClusterError
from app.db import create_engine, create_sessions
from app.jobs.transitions import jobs
from app.migrate import upgrade
from app.simulator.crds import custom_resource_definitions
from tests.controlplane.binaries import why_missing
from tests.controlplane.plane import ControlPlane
from tests.crash.clusters import Cluster, SimulatedProcess, redirected
from tests.crash.invariants import violations
from tests.crash.lines import TcpLine
from tests.crash.own_postgres import OwnPostgres
from tests.crash.processes import process_settings
from tests.crash.real_cluster import RealCluster
from tests.crash.soak_faults import Faults
from tests.crash.soak_load import Load
from tests.crash.soak_parts import ROLES, Fleet
from tests.crash.soak_report import Report
from tests.crash.soak_samples import Samples
from tests.crash.verdict import Trial, evidence
from tests.crash.world import World

SUBMIT_EVERY_SECONDS = 3.0
PAUSE_SECONDS = (2.0, 12.0)
CHECK_EVERY_SECONDS = 180.0
SAMPLE_EVERY_SECONDS = 5.0
DRAIN_SECONDS = 600.0
TOGETHER_SHARE = 0.3
CLEAR_SECONDS = 30.0


class Soak:
    """One run over a world that stands."""

    def __init__(self, fleet: Fleet, postgres: OwnPostgres, line: TcpLine, seed: int) -> None:
        self._fleet = fleet
        self._world: Any = fleet.world
        self._chance = random.Random(seed)
        self._began = time.monotonic()
        self.load = Load(fleet, random.Random(seed + 1), SUBMIT_EVERY_SECONDS)
        self.faults = Faults(fleet, postgres, line, self.load, random.Random(seed + 2))
        self.samples = Samples(fleet)
        self.ends: dict[UUID, tuple[str, Any]] = {}
        self.violations: list[str] = []
        self._wrong: list[str] = []
        self.checks = 0

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self._began) / 60

    async def run(self, minutes: float) -> None:
        """Load, faults and checks for so long, then a drain, and at last the check of the crash tests."""
        stop = asyncio.Event()
        sampling = asyncio.create_task(self._sample())
        loading = asyncio.create_task(self.load.run(stop))
        try:
            await self._damage(minutes)
            stop.set()
            await asyncio.wait_for(loading, DRAIN_SECONDS)
            await self._drained()
            await self._check()
            self._tell("the end is checked as after every fault of the crash tests")
            await Trial(self._fleet, "soak", "").holds(self.load.may_end)
        except (AssertionError, TimeoutError, pytest.fail.Exception) as error:
            self.violations.append(str(error).partition("\n")[0] or type(error).__name__)
        finally:
            sampling.cancel()
            loading.cancel()

    async def _damage(self, minutes: float) -> None:
        checked_at = time.monotonic()
        names = self.faults.names()
        left = self._chance.sample(names, len(names))  # each of them once before any of them again
        while self.minutes < minutes:
            await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))
            left = left or self._chance.sample(names, len(names))
            await self._fault(left)
            if time.monotonic() - checked_at > CHECK_EVERY_SECONDS:
                await self._check()
                checked_at = time.monotonic()
            if self.violations:
                return

    async def _fault(self, left: list[str]) -> None:
        """The next fault, at times together with another one that damages something else."""
        names = [left.pop()]
        others = [name for name in left if self.faults.part_of(name) != self.faults.part_of(names[0])]
        if others and self._chance.random() < TOGETHER_SHARE:
            names.append(others[-1])
            left.remove(others[-1])
        self._tell(" and ".join(names))
        try:
            await asyncio.gather(*(self.faults.carry_out(name) for name in names))
        except Exception as error:  # noqa: BLE001 - the report is wanted all the more
            self.violations.append(f"{names}: {type(error).__name__} {error}"[:500])
        finally:
            await self.faults.heal()
        self.violations += [f"{role} has ended by itself" for role in self._fleet.unexpected_ends()]
        self.violations += self.load.surprises

    async def _check(self) -> None:
        """What is wrong must be so at two looks: rows and cluster are not read in the same instant."""

        async def nothing_wrong() -> bool:
            try:
                seen = await evidence(self._world, self.ends)
            except ClusterError:
                return False
            self._wrong = violations(seen)
            if not self._wrong:
                self.ends |= {row.id: (row.state, row.ended_at) for row in seen.rows if row.ended_at is not None}
            return not self._wrong

        self._wrong = ["nothing could be checked"]
        self.checks += 1
        with contextlib.suppress(pytest.fail.Exception):
            await self._world.until(nothing_wrong, CLEAR_SECONDS)
        self.violations += self._wrong
        states = Counter(row.state for row in await self._world.rows(jobs))
        self._tell(f"check {self.checks}: {len(self._wrong)} violations {self._wrong[:3]}; {dict(states)}")

    async def _drained(self) -> None:
        async def all_ended() -> bool:
            return all(row.ended_at is not None for row in await self._world.rows(jobs))

        self._tell("drain")
        await self._world.until(all_ended, DRAIN_SECONDS)

    async def _sample(self) -> None:
        while True:
            self.samples.take(self.minutes)
            self._world.cluster.creations()
            await asyncio.sleep(SAMPLE_EVERY_SECONDS)

    def _tell(self, words: str) -> None:
        print(f"{self.minutes:6.1f} min  {words}", flush=True)  # noqa: T201 - somebody watches


@contextmanager
def standing_cluster(directory: Path, *, simulated: bool) -> Iterator[Cluster]:
    """The real control plane if it is built, else the simulated cluster."""
    with contextlib.ExitStack() as stack:
        cluster: Cluster
        if simulated or why_missing():
            cluster = SimulatedProcess(directory)
        else:
            plane = stack.enter_context(ControlPlane(directory, custom_resource_definitions()))
            plane.add_nodes()
            cluster = RealCluster(plane)
        stack.callback(cluster.close)
        cluster.begin()
        yield cluster


@asynccontextmanager
async def standing_world(directory: Path, cluster: Cluster) -> AsyncIterator[tuple[World, OwnPostgres]]:
    """A migrated Postgres of its own, and one team."""
    postgres = OwnPostgres(directory / "postgres")
    settings = process_settings(postgres.url, retention_seconds=3.0)
    engine = create_engine(settings)
    try:
        await upgrade(engine)
        async with open_client(ClusterSettings(kubeconfig=str(cluster.admin_kubeconfig()))) as client:
            world = World(settings, create_sessions(engine), engine, client, cluster, team=f"s{uuid4().hex[:8]}")
            await world.make_team({"limits": {"nvidia.com/gpu": {"outstanding": 10_000}}})
            yield world, postgres
    finally:
        await engine.dispose()
        postgres.stop()


async def soak(directory: Path, cluster: Cluster, minutes: float, seed: int) -> Report:
    """Run and report."""
    async with AsyncExitStack() as stack:
        world, postgres = await stack.enter_async_context(standing_world(directory, cluster))
        address = urlsplit(cluster.url)
        line = TcpLine(lambda: asyncio.open_connection(address.hostname, address.port))
        await line.start()
        stack.push_async_callback(line.cut)
        behind = redirected(cluster.admin_kubeconfig(), line.port, directory / "behind-the-line")
        fleet = Fleet(world, directory, behind, random.Random(seed + 3))
        stack.push_async_callback(fleet.close)
        for role in ROLES:
            await fleet.launch(role)
        run = Soak(fleet, postgres, line, seed)
        await run.run(minutes)
        seen = await evidence(world)
        return Report(
            date=datetime.now(UTC).date().isoformat(),
            minutes=run.minutes,
            seed=seed,
            cluster=cluster.name,
            accepted=len(seen.rows),
            created=len(seen.creations),
            unanswered=run.load.unanswered,
            ends=Counter(row.state for row in seen.rows),
            faults=run.faults.counts,
            checks=run.checks,
            violations=run.violations,
            processes=run.samples.rows(),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--simulated", action="store_true", help="also where the real control plane is built")
    parser.add_argument("--write", action="store_true", help="renew the table in docs/reliability.md")
    parser.add_argument("--keep", type=Path, help="a new folder for the logs, which stays")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="p-soak-", ignore_cleanup_errors=True) as path:
        directory = given.keep or Path(path)
        directory.mkdir(parents=True, exist_ok=True)
        with standing_cluster(directory, simulated=given.simulated) as cluster:
            report = asyncio.run(soak(directory, cluster, given.minutes, given.seed))
    print(report.markdown())  # noqa: T201
    if given.write:
        report.write()
    sys.exit(1 if report.violations else 0)


if __name__ == "__main__":
    main()
