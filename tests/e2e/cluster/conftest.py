"""One suite for any cluster: `make e2e`, with KUBECONFIG naming the cluster and its administrator.

Without KUBECONFIG it starts `pumice simulate`; with `--control-plane` a real API server with kwok's nodes and
`pumice simulate --kubeconfig` in Volcano's place. It makes objects only under names of its run, and removes them.

    PUMICE_E2E_IMAGE      an image with sh and sleep, where nodes cannot pull busybox
    PUMICE_E2E_RESOURCE   the resource to count, instead of what the cluster has
    PUMICE_E2E_NODES      nodes of the simulated cluster that is started, for example 3x2
"""

import asyncio
import os
import signal
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from app.cluster.client import ClusterSettings, open_client
from app.cluster.errors import ClusterError
from app.cluster.kinds import JOB, QUEUE
from tests.conftest import _database
from tests.e2e.cluster.account import make_account, write_kubeconfig
from tests.e2e.cluster.kube import PRIORITY_CLASS, Kube
from tests.e2e.cluster.processes import Process
from tests.e2e.cluster.service import Service
from tests.e2e.cluster.shape import detect
from tests.e2e.cluster.sweep import left_over, release, remove
from tests.e2e.cluster.witness import Witness
from tests.e2e.cluster.world import Team, World

HERE = Path(__file__).resolve().parent
TEST_SECONDS = 600
_ACCOUNT_SECONDS = 30.0
_PRIORITIES = {"low": 10, "high": 1000}
_summary = pytest.StashKey[list[str]]()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run of all tests must not touch the cluster that a developer's KUBECONFIG happens to name."""
    asked = (Path(argument.partition("::")[0]).resolve() for argument in config.args)
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        item.add_marker(pytest.mark.timeout(TEST_SECONDS))
        if "PYTEST_XDIST_WORKER" in os.environ:
            item.add_marker(pytest.mark.skip("the scenarios share the cluster's GPUs: they run one after the other"))
    if ours:
        # a CI system ends a job by SIGTERM: clean up then as after Ctrl-C, which a shell's background job ignores
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(_summary, [])
    if not lines:
        return
    terminalreporter.section("scenarios")
    for line in lines:
        terminalreporter.write_line(line)
    reports = [report for found in terminalreporter.stats.values() for report in found]
    for report in reports:
        if getattr(report, "when", "") == "call" or getattr(report, "skipped", False):
            name = report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
            terminalreporter.write_line(f"{report.outcome:>8} {report.duration:6.1f} s  {name}")


def _session(scope: Callable[..., Any]) -> Any:
    return pytest_asyncio.fixture(scope="session", loop_scope="session")(scope)


@pytest.fixture(scope="session")
def workplace() -> Iterator[Path]:
    """A directory for kubeconfigs and logs."""
    with tempfile.TemporaryDirectory(prefix="p-") as path:
        yield Path(path).resolve()


@pytest.fixture(scope="session")
def given_cluster(request: pytest.FixtureRequest) -> tuple[str | None, list[str]]:
    """The kubeconfig of a cluster that is there, and the arguments of `pumice simulate` for what is missing of it."""
    if request.config.getoption("--control-plane", default=False):
        path = str(request.getfixturevalue("control_plane").kubeconfig_path)
        return path, ["--kubeconfig", path]
    if os.environ.get("KUBECONFIG"):
        return os.environ["KUBECONFIG"], []
    return None, ["--port", "0", "--nodes", os.environ.get("PUMICE_E2E_NODES", "3x2")]


@_session
async def administrator(given_cluster: tuple[str | None, list[str]], workplace: Path) -> AsyncIterator[str]:
    """The kubeconfig of the cluster's administrator."""
    path, arguments = given_cluster
    if not arguments:
        yield str(path)
        return
    if path is None:
        path = str(workplace / "simulated.kubeconfig")
        arguments = [*arguments, "--kubeconfig-out", path]
    simulator = await Process.start(workplace, "simulate", *arguments, environment={})
    try:
        await simulator.printed(r"(kubectl|Volcano)")
        yield path
    finally:
        await simulator.stop()


@_session
async def kube(administrator: str) -> AsyncIterator[Kube]:
    async with open_client(ClusterSettings(kubeconfig=administrator)) as client:
        kube = Kube(client)
        for kind in (JOB, QUEUE):
            root = kind.collection_path.rpartition("/")[0]
            if await kube.get(root) is None:
                pytest.exit(f"The cluster has no {root}: is Volcano installed?", returncode=3)
        yield kube


@_session
async def run(kube: Kube) -> AsyncIterator[str]:
    """The beginning of every name that this run gives. At the end nothing of that name is left, or the run fails."""
    run = f"e2e-{uuid.uuid4().hex[:6]}"
    try:
        yield run
    finally:
        await remove(kube, run)
    left = await left_over(kube, run)
    assert not left, f"left in the cluster: {', '.join(left)}"


@_session
async def witness(kube: Kube, run: str) -> AsyncIterator[Witness]:
    witness = Witness(kube, await detect(kube, os.environ.get("PUMICE_E2E_RESOURCE")), run)
    looking = asyncio.create_task(witness.run())
    yield witness
    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking
    assert not witness.twice(), f"Volcano Jobs that were there twice: {witness.twice()}"


@_session
async def priorities(kube: Kube, run: str) -> dict[str, str | None]:
    """The service's setting of this name, with PriorityClasses of this run that preempt nobody."""
    for name, value in _PRIORITIES.items():
        body = {
            "apiVersion": PRIORITY_CLASS.api_version,
            "kind": PRIORITY_CLASS.name,
            "metadata": {"name": f"{run}-{name}"},
            "value": value,
            "preemptionPolicy": "Never",
        }
        await kube.create(PRIORITY_CLASS.collection_path, body)
    return {"low": f"{run}-low", "normal": None, "high": f"{run}-high"}


@_session
async def account(kube: Kube, run: str, administrator: str, workplace: Path) -> AsyncIterator[Kube]:
    """The account that the service runs as, with the rights that it ships with and no others."""
    path = write_kubeconfig(workplace / "service.kubeconfig", administrator, await make_account(kube, run))
    async with open_client(ClusterSettings(kubeconfig=str(path))) as client:
        account = Kube(client)
        await _known(account)
        yield account


async def _known(account: Kube) -> None:
    """Wait until the API server has heard of the account's binding."""
    deadline = time.monotonic() + _ACCOUNT_SECONDS
    while True:
        try:
            await account.list(JOB.collection_path)
        except ClusterError:
            if time.monotonic() > deadline:
                raise
        else:
            return
        await asyncio.sleep(0.1)


@_session
async def world(  # noqa: PLR0917 - pytest passes fixtures by name
    kube: Kube,
    run: str,
    witness: Witness,
    account: Kube,
    priorities: dict[str, str | None],
    workplace: Path,
    request: pytest.FixtureRequest,
) -> AsyncIterator[World]:
    version = (await kube.get("/version") or {}).get("gitVersion", "unknown")
    request.config.stash[_summary] = [f"run {run} on Kubernetes {version}: {witness.shape.words}"]
    async with _database("TEMPLATE pumice_template") as database_url:
        service = Service(workplace, database_url, workplace / "service.kubeconfig", priorities)
        world = World(
            run, kube, witness.shape, os.environ.get("PUMICE_E2E_IMAGE", "busybox"), service, witness, priorities
        )
        try:
            await service.start()
            yield world
        finally:
            await service.stop()


@_session
async def abandoned(world: World, workplace: Path) -> AsyncIterator[tuple[Team, str]]:
    """A job of a second installation on the same cluster, whose controller ends before the job does.

    Volcano collects it a minute after its end, for which no test has to wait alone.
    """
    async with _database("TEMPLATE pumice_template") as database_url:
        service = Service(workplace, database_url, workplace / "service.kubeconfig", world.priorities)
        other = replace(world, service=service)
        try:
            await service.start()
            team = await other.make_team("abandoned", capability=1)
            job_id = await team.submit("job", seconds=10)
            await team.until(job_id, lambda job: job["submitted_at"] is not None)
            await service.stop_controller()
            yield team, job_id
        finally:
            await service.stop()


@pytest.fixture(scope="session", autouse=True)
def _early(request: pytest.FixtureRequest) -> None:
    """Begin what takes long before the first test, if any of the tests needs it."""
    if any("abandoned" in item.fixturenames for item in request.session.items if isinstance(item, pytest.Function)):
        # its failure belongs to the test that asks for it
        with suppress(Exception, pytest.fail.Exception):
            request.getfixturevalue("abandoned")


@pytest_asyncio.fixture(loop_scope="session")
async def team(world: World, kube: Kube) -> AsyncIterator[Callable[..., Awaitable[Team]]]:
    """Makes teams for one test; at its end nothing of them holds anything any more."""
    made: list[Team] = []

    async def make(name: str, **queue: int) -> Team:
        made.append(await world.make_team(name, **queue))
        return made[-1]

    yield make
    await world.service.ensure_controller()
    try:
        for each in made:
            await each.clear()
    except BaseException:
        for each in made:
            await release(kube, each.name)
        raise
