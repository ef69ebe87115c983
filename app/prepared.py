"""Statements that are compiled once and run by asyncpg itself, for the one path where each 0.1 ms counts.

SQLAlchemy's execution costs several times what asyncpg's does. The statements are still written with SQLAlchemy, so
that the names of tables and columns are checked; only compiling and running differ.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg
from pydantic_core import to_json
from sqlalchemy import Table
from sqlalchemy.dialects.postgresql.asyncpg import dialect
from sqlalchemy.sql.expression import ClauseElement

from app.db import Sessions

Driver: TypeAlias = asyncpg.Connection
"""asyncpg's own connection, of SQLAlchemy's pool and with its codecs: JSON is read into Python's types."""


def _to_json(value: Any) -> str:
    """JSON by pydantic's serializer, which takes a quarter of the time of Python's."""
    return to_json(value).decode()


_DIALECT = dialect(json_serializer=_to_json)  # type: ignore[no-untyped-call]


class Prepared:
    """One statement with named parameters; asyncpg keeps the server's plan for its text."""

    def __init__(self, statement: ClauseElement) -> None:
        compiled: Any = statement.compile(dialect=_DIALECT)
        self._sql: str = compiled.string
        self._names: list[str] = compiled.positiontup
        self._constants: dict[str, Any] = {name: value for name, value in compiled.params.items() if value is not None}
        self._encode: dict[str, Callable[[Any], Any]] = compiled._bind_processors  # noqa: SLF001  as SQLAlchemy's own execution does

    async def fetch(self, driver: Driver, given: Mapping[str, Any]) -> list[asyncpg.Record]:
        """Run it with parameters by name and return all rows."""
        values = {**self._constants, **given}
        arguments = [self._encode[name](values[name]) if name in self._encode else values[name] for name in self._names]
        rows: list[asyncpg.Record] = await driver.fetch(self._sql, *arguments)
        return rows


async def copy_rows(driver: Driver, table: Table, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write many rows by COPY (PostgreSQL manual, "COPY"), which costs a fraction of as many INSERTs.

    Args:
        driver: in a transaction.
        table: without triggers that expect INSERT statements.
        columns: those that every row names; the others get their defaults.
        rows: values as SQLAlchemy would take them.
    """
    processors = [table.c[name].type.dialect_impl(_DIALECT).bind_processor(_DIALECT) for name in columns]
    encoders = list(zip(columns, processors, strict=True))
    records = (tuple(encode(row[name]) if encode else row[name] for name, encode in encoders) for row in rows)
    await driver.copy_records_to_table(table.name, columns=list(columns), records=records)


@asynccontextmanager
async def driver_transaction(sessions: Sessions) -> AsyncIterator[Driver]:
    """One transaction on the driver's own connection, taken from the same pool as all others."""
    async with sessions.kw["bind"].connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        async with driver.transaction():
            yield driver
