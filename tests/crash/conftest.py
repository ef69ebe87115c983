"""Fixtures of the crash tests: worlds of parts in this process and of processes, and the crash table."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from app.cluster.client import ClusterSettings, open_client
from app.db import Sessions
from tests.crash.clearing import clear_away
from tests.crash.clusters import Cluster, SimulatedProcess
from tests.crash.processes import Service, process_settings
from tests.crash.real_cluster import RealCluster
from tests.crash.table import Line, markdown
from tests.crash.verdict import Trial
from tests.crash.world import World
from tests.fixtures.world import world

__all__ = ["world"]

_LINE = "crash table"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="crash tests: faults that last minutes too, as on a real API server"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --control-plane only what damages a cluster of processes runs, and first what lasts longest."""
    if not config.getoption("--control-plane", default=False):
        return
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    left = [item for item in ours if "any_cluster" not in _fixtures(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = sorted((item for item in items if item not in left), key=lambda item: "long" not in _fixtures(item))


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the crash table: a line for each fault, also for those after which something was wrong."""
    reports = [each for some in terminalreporter.stats.values() for each in some if isinstance(each, pytest.TestReport)]
    failed = {each.nodeid for each in reports if each.failed}
    told = [_told(each, value, failed) for each in reports for name, value in each.user_properties if name == _LINE]
    if told:
        terminalreporter.section("crash table")
        terminalreporter.write_line(markdown(line for line in told if line is not None))


def _told(report: pytest.TestReport, line: Any, failed: set[str]) -> Line | None:
    """A line is told by its test's last report; a test may fail after its check has held."""
    if report.when != "teardown":
        return None
    return replace(Line(**line), outcome="FAILED") if report.nodeid in failed else Line(**line)


@pytest.fixture(scope="session")
def any_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The simulated cluster as a process, or with --control-plane the real thing; each worker has its own."""
    cluster: Cluster
    if request.config.getoption("--control-plane", default=False):
        cluster = RealCluster(request.getfixturevalue("control_plane"))
    else:
        cluster = SimulatedProcess(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.begin()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def long(request: pytest.FixtureRequest) -> bool:
    """Whether faults may last as long as they do in life."""
    option = request.config.getoption
    return bool(option("--long", default=False) or option("--control-plane", default=False))


@pytest.fixture
async def outer_world(
    any_cluster: Cluster, database_url: str, sessions: Sessions, engine: AsyncEngine
) -> AsyncIterator[World]:
    """A world whose service and cluster are processes; its names are its own, since its cluster is not."""
    settings = process_settings(database_url)
    async with open_client(ClusterSettings(kubeconfig=str(any_cluster.admin_kubeconfig()))) as client:
        world = World(settings, sessions, engine, client, any_cluster, team=f"t{uuid4().hex[:10]}")
        await world.make_team()
        yield world


@pytest.fixture
async def service(outer_world: World, tmp_path: Path) -> AsyncIterator[Service]:
    """Processes over the world; at the end the cluster is whole again and has nothing left of this test."""
    cluster = outer_world.cluster
    service = Service(outer_world, tmp_path, cluster.kubeconfig(tmp_path / "kubeconfig"))
    try:
        yield service
    finally:
        cluster.thaw()
        try:
            await service.close()
        finally:
            await clear_away(outer_world)


@pytest.fixture
def trial(service: Service, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes the test's trial, whose line stands in the crash table whatever becomes of the test."""
    made: list[Trial] = []

    def make(fault: str, done: str) -> Trial:
        made.append(Trial(service, fault, done))
        return made[-1]

    yield make
    request.node.user_properties += [(_LINE, each.line.as_dict()) for each in made]
