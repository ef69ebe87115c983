"""Postgres's clock set to the recording's: `now()` finds a function of ours first.

Every time that the controller decides by or writes is Postgres's, so a recording of half a minute is played in a second
with the very times of the cluster: no object lies in the future, and none looks old.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Self

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

_STATEMENTS = (
    "CREATE SCHEMA clock",
    "CREATE TABLE clock.moment (at timestamptz NOT NULL)",
    "INSERT INTO clock.moment VALUES (pg_catalog.now())",
    "CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM clock.moment'",
)


class PostgresClock:
    """The clock of one database, by a connection of its own that commits each statement."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def of(cls, url: str) -> AsyncIterator[Self]:
        """Put the function into a database; connections that are opened from now on go by it."""
        engine = create_async_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
        async with engine.connect() as connection:
            for statement in _STATEMENTS:
                await connection.execute(text(statement))
            name = (await connection.execute(text("SELECT current_database()"))).scalar_one()
            # first by name, or pg_catalog would come before every schema
            await connection.execute(text(f"ALTER DATABASE {name} SET search_path = clock, pg_catalog, public"))
            yield cls(connection)
        await engine.dispose()

    async def set(self, at: datetime) -> None:
        await self._connection.execute(text("UPDATE clock.moment SET at = :at"), {"at": at})
