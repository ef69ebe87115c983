"""The database of a command: the given one or the embedded one, reachable and migrated."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from alembic.util import CommandError
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.commands.data_directory import DataDirectory
from app.commands.failure import CommandFailed
from app.commands.stopping import Stopping
from app.db import is_unreachable, sqlstate
from app.embedded import EmbeddedPostgres
from app.migrate import upgrade
from app.settings import Settings
from app.telemetry import get_logger

_log = get_logger(__name__)

_ANSWER_SECONDS = 10.0
_POLL_SECONDS = 0.2
_FAST_SECONDS = 4.0
_IMMEDIATE_SECONDS = 2.0


@asynccontextmanager
async def embedded(settings: Settings, data: Path, stopping: Stopping) -> AsyncIterator[Settings]:
    """Run the embedded PostgreSQL over a data directory that nobody else uses; yields settings with its address.

    Raises:
        CommandFailed: it does not start.
    """
    server = await asyncio.to_thread(_start, data)
    try:
        yield settings.model_copy(update={"database_url": SecretStr(server.url)})
    finally:
        await _stop(server, stopping)


def clear(directory: DataDirectory) -> None:
    """Remove the database and the simulated cluster's state; the admin token and the log stay. Touches nothing else."""
    if (directory.postgres / "postmaster.pid").exists():
        _start(directory.postgres).stop()  # the server of a process that was killed may still run over it
    shutil.rmtree(directory.postgres, ignore_errors=True)
    shutil.rmtree(directory.cluster_state, ignore_errors=True)


def _start(data: Path) -> EmbeddedPostgres:
    try:
        return EmbeddedPostgres(data, exclusive=True)
    except (OSError, RuntimeError, AssertionError, subprocess.SubprocessError) as error:
        _log.error("postgres_not_started", exc_info=error)
        raise CommandFailed(
            f"The embedded PostgreSQL does not start in {data} ({type(error).__name__}); pumice.log beside it says why."
        ) from error


async def _stop(server: EmbeddedPostgres, stopping: Stopping) -> None:
    """A fast shutdown; when that takes long or is hurried an immediate one (PostgreSQL manual, 18.5); then SIGKILL."""
    pid = server.pid
    task = asyncio.ensure_future(asyncio.to_thread(server.stop))
    if not await stopping.grace(task, _FAST_SECONDS):
        for number in (signal.SIGQUIT, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            await asyncio.wait([task], timeout=_IMMEDIATE_SECONDS)
            if task.done():
                break
    await task


async def migrated(engine: AsyncEngine) -> None:
    """Wait until the database answers, and bring it to this release's schema.

    Raises:
        CommandFailed: it does not answer within ten seconds, refuses us, or cannot be migrated.
    """
    try:
        await _answering(engine)
        await upgrade(engine)
    except CommandError as error:
        raise CommandFailed("The database was made by a newer release than this one; use that release.") from error
    except (SQLAlchemyError, OSError) as error:
        state = sqlstate(error)
        why = f"answers with SQLSTATE {state}" if state else "cannot be used"
        raise CommandFailed(f"The database {why}; check PUMICE_DATABASE_URL and the rights of its user.") from error


async def _answering(engine: AsyncEngine) -> None:
    deadline = asyncio.get_running_loop().time() + _ANSWER_SECONDS
    while not await _answers(engine):
        if asyncio.get_running_loop().time() > deadline:
            raise CommandFailed(
                f"The database does not answer within {_ANSWER_SECONDS:g} s; is PUMICE_DATABASE_URL right?"
            )
        await asyncio.sleep(_POLL_SECONDS)


async def _answers(engine: AsyncEngine) -> bool:
    try:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except Exception as error:
        if is_unreachable(error):
            return False
        raise
    return True
