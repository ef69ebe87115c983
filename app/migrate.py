"""Bringing the database to the schema of this release, with Alembic."""

import asyncio
from functools import lru_cache
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, text
from sqlalchemy.ext.asyncio import AsyncEngine

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"

_LOCK = 0x70756D69636500  # "pumice" in ASCII; any number that nobody else uses
_LOCK_POLL_SECONDS = 0.5


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration, made here so that no file has to name a database."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


@lru_cache(maxsize=1)
def head_revision() -> str:
    """The revision that this release needs."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if head is None:
        raise RuntimeError("There is no migration.")
    return head


@lru_cache(maxsize=1)
def known_revisions() -> frozenset[str]:
    """Every revision that this release has; one that it does not know was made by a later release."""
    return frozenset(script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions())


async def current_revision(engine: AsyncEngine) -> str | None:
    """The revision that the database has; None before the first migration."""
    async with engine.connect() as connection:
        return await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())


async def upgrade(engine: AsyncEngine, revision: str = "head") -> None:
    """Migrate. Several processes may call this at once: one works, the others wait for it and find nothing to do."""
    async with engine.connect() as lock:
        # tried again and again, not waited for: a waiting statement would hold a snapshot and run into its timeout
        while not (await lock.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": _LOCK})).scalar_one():
            await lock.rollback()
            await asyncio.sleep(_LOCK_POLL_SECONDS)
        await lock.commit()
        try:
            async with engine.connect() as connection:
                await connection.run_sync(lambda sync: command.upgrade(alembic_config(sync), revision))
                await connection.commit()
        finally:
            await lock.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _LOCK})
            await lock.commit()


async def downgrade(engine: AsyncEngine, revision: str) -> None:
    """Go back to an older revision; for tests and for an operator who knows why."""
    async with engine.connect() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(sync), revision))
        await connection.commit()


async def drift(engine: AsyncEngine, metadata: MetaData) -> list[object]:
    """Differences between the migrated database and the tables of the code; empty when they agree."""
    async with engine.connect() as connection:
        return await connection.run_sync(
            lambda sync: list(compare_metadata(MigrationContext.configure(sync), metadata))
        )
