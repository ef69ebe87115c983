"""Fixtures of every suite: one Postgres server, one migrated template, one database for each test."""

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import hypothesis
import pytest
import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool
from structlog.stdlib import ProcessorFormatter

from app import failpoints
from app.db import Sessions, create_engine, create_sessions
from app.embedded import EmbeddedPostgres
from app.migrate import upgrade
from app.settings import Settings
from app.simulator.crds import custom_resource_definitions
from tests.controlplane import guard
from tests.controlplane.binaries import may_skip, why_missing
from tests.controlplane.plane import ControlPlane

# a developer's runs look for new examples; CI repeats the same ones, so that it judges the change and not its luck
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")

TEMPLATE = "pumice_template"
_SERVER = "PUMICE_TEST_SERVER"  # handed from pytest's first process to the xdist workers


def _on(server: str, database: str) -> str:
    head, separator, query = server.partition("?")
    return head.rsplit("/", 1)[0] + "/" + database + separator + query


async def _admin(server: str, *statements: str) -> None:
    engine = create_async_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    async with engine.connect() as connection:
        for statement in statements:
            await connection.execute(text(statement))
    await engine.dispose()


async def _make_template(server: str, *, ours: bool) -> None:
    if ours:
        # the data of a test need not survive a crash of the machine
        await _admin(server, "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    await _admin(server, f"DROP DATABASE IF EXISTS {TEMPLATE}", f"CREATE DATABASE {TEMPLATE}")
    engine = create_async_engine(_on(server, TEMPLATE), poolclass=NullPool)
    await upgrade(engine)
    await engine.dispose()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--control-plane", action="store_true", help="run on a real kube-apiserver (make controlplane)")


def pytest_configure(config: pytest.Config) -> None:
    if _SERVER in os.environ:
        return
    given = os.environ.get("TEST_DATABASE_URL")
    if given is None:
        config.stash_directory = Path(tempfile.mkdtemp(prefix="pumice-tests-"))
        config.stash_postgres = EmbeddedPostgres(config.stash_directory / "postgres")
        guard.watch(config.stash_postgres.pid)
        server = config.stash_postgres.url
    else:
        server = Settings(database_url=given).async_database_url
    asyncio.run(_make_template(server, ours=given is None))
    os.environ[_SERVER] = server


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "stash_postgres"):
        pid = config.stash_postgres.pid
        config.stash_postgres.stop()
        guard.forget(pid)
        shutil.rmtree(config.stash_directory, ignore_errors=True)


@asynccontextmanager
async def _database(template: str = "") -> AsyncIterator[str]:
    server = os.environ[_SERVER]
    name = f"t_{uuid4().hex}"
    await _admin(server, f"CREATE DATABASE {name} {template}")
    yield _on(server, name)
    await _admin(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def database_url() -> AsyncIterator[str]:
    """The address of a migrated, empty database that this test has for itself."""
    async with _database(f"TEMPLATE {TEMPLATE}") as url:
        yield url


@pytest.fixture
async def empty_database_url() -> AsyncIterator[str]:
    """The address of a database without any table."""
    async with _database() as url:
        yield url


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings(database_url=database_url, database_pool_size=5, _env_file=None)


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(settings)
    yield engine
    await engine.dispose()


@pytest.fixture
def sessions(engine: AsyncEngine) -> Sessions:
    return create_sessions(engine)


@pytest.fixture(autouse=True)
def _logging_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command that runs inside the test process sets logging up for good; the next test must not write there."""
    configure = structlog.configure
    monkeypatch.setattr(
        structlog, "configure", lambda **options: configure(**options | {"cache_logger_on_first_use": False})
    )
    yield
    structlog.reset_defaults()
    root = logging.getLogger()
    root.handlers[:] = [each for each in root.handlers if not isinstance(each.formatter, ProcessorFormatter)]
    root.setLevel(logging.WARNING)


@pytest.fixture(autouse=True)
def _disarmed() -> None:
    failpoints.disarm()


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A real control plane with Volcano's kinds and three GPU nodes, one for each worker."""
    missing = why_missing()
    if missing and may_skip():
        pytest.skip(missing)
    if missing:
        pytest.fail(missing)
    with (
        tempfile.TemporaryDirectory(prefix="p-") as path,
        ControlPlane(Path(path), custom_resource_definitions()) as plane,
    ):
        plane.add_nodes()
        yield plane
