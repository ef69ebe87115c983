"""Postgres: engine, sessions, naming convention, and which of its errors mean that it is away."""

import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import asyncpg
from sqlalchemy import DateTime, Table, event
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlmodel import SQLModel
from uuid_utils.compat import uuid7

from app.errors import Unavailable
from app.settings import Settings

SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

TIME = DateTime(timezone=True)
"""Type of every time column."""

Sessions = async_sessionmaker[AsyncSession]

STATEMENT_TIMEOUT_MS = 30_000
IDLE_TRANSACTION_MS = 60_000
"""A process that froze in a transaction holds its locks, and holds up who reads events, for no longer than this."""

COMMAND_TIMEOUT_SECONDS = 35.0
"""The same on our side, a little longer: a server that fell silent, with nothing closed, ends no statement."""

CONNECT_TIMEOUT_SECONDS = 5.0
IDLE_SECONDS = 30.0


def create_engine(settings: Settings) -> AsyncEngine:
    """An engine whose connections speak UTC, are checked before use, and never wait without end."""
    engine = create_async_engine(
        settings.async_database_url,
        pool_size=settings.database_pool_size,
        max_overflow=0,
        hide_parameters=True,  # the texts of errors go into logs, and parameters hold what callers sent
        pool_timeout=settings.database_pool_timeout_seconds,
        connect_args={
            "timeout": CONNECT_TIMEOUT_SECONDS,
            "command_timeout": COMMAND_TIMEOUT_SECONDS,
            "server_settings": {
                "application_name": "pumice",
                "timezone": "UTC",
                "statement_timeout": str(STATEMENT_TIMEOUT_MS),
                "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_MS),
                "jit": "off",  # our statements are short; compiling them costs more than they do
            },
        },
    )
    event.listen(engine.sync_engine, "checkin", _on_checkin)
    event.listen(engine.sync_engine, "checkout", _on_checkout)
    return engine


# SQLAlchemy's pool_pre_ping asks the server before each use: three round trips with asyncpg, as many as a request of
# ours needs for its work. A closed connection is known without asking, since the event loop has read its end; only one
# that was idle for long may have died in silence (a firewall, a cable), and is asked.
def _on_checkin(dbapi_connection: Any, record: ConnectionPoolEntry) -> None:
    record.info["idle_since"] = time.monotonic()


def _on_checkout(dbapi_connection: Any, record: ConnectionPoolEntry, proxy: PoolProxiedConnection) -> None:
    """Let the pool open a new connection in the place of one that is closed."""
    if dbapi_connection.driver_connection.is_closed():
        raise DisconnectionError("closed")
    if time.monotonic() - record.info.get("idle_since", math.inf) > IDLE_SECONDS:
        try:
            dbapi_connection.ping()
        except Exception as error:
            raise DisconnectionError("no answer") from error


def create_sessions(engine: AsyncEngine) -> Sessions:
    """A maker of sessions; `sessions.begin()` is one transaction."""
    return async_sessionmaker(engine, expire_on_commit=False)


@asynccontextmanager
async def reading(sessions: Sessions) -> AsyncIterator[AsyncSession]:
    """A session for reads alone, in which each statement stands for itself.

    At Postgres' READ COMMITTED each statement of a transaction sees its own snapshot anyway; without BEGIN and COMMIT a
    read costs one round trip in the place of three.
    """
    async with sessions() as session:
        await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        yield session


def table(row: type[SQLModel]) -> Table:
    """The SQLAlchemy table behind a row class, for statements without the ORM's cost."""
    return cast("Table", row.__table__)  # type: ignore[attr-defined]


def now() -> datetime:
    """The present moment, aware and in UTC."""
    return datetime.now(UTC)


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562, 5.7): ids sort by the time at which they were made."""
    return uuid7()


def is_away(error: BaseException) -> bool:
    """Whether an error means that Postgres does not serve us now, and not that a statement is wrong."""
    return is_unreachable(error) or is_refusing(error)


def is_unreachable(error: BaseException) -> bool:
    """Whether Postgres does not answer, is going down, or has too little of something."""
    if isinstance(error, (InterfaceError, OperationalError, PoolTimeoutError)):
        return True
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state = sqlstate(error)
    if state is not None:
        return state[:2] in _UNREACHABLE_CLASSES or state in _UNREACHABLE_STATES
    # OSError: no route, no such name, no such socket; SQLAlchemy does not wrap what happens while it connects
    return isinstance(error, (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError, TimeoutError))


def is_refusing(error: BaseException) -> bool:
    """Whether Postgres answers, but not us: a wrong password, no such database, no rights, not migrated yet."""
    state = sqlstate(error)
    return state is not None and (state[:2] in _REFUSING_CLASSES or state in _REFUSING_STATES)


def sqlstate(error: BaseException | None) -> str | None:
    """The SQLSTATE of an error of SQLAlchemy or asyncpg (PostgreSQL manual, appendix A); None when it has none."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    found = getattr(origin, "sqlstate", None)
    return None if found is None else str(found)


_UNREACHABLE_CLASSES = frozenset({"08", "53", "57"})
"""Connection, too little of something, an operator intervened."""

_UNREACHABLE_STATES = frozenset({"25006", "25P03"})
"""A standby, in the middle of a failover; a session that was ended because it was idle in a transaction."""

_REFUSING_CLASSES = frozenset({"28", "3D"})
"""Not authorized, no such database."""

_REFUSING_STATES = frozenset({"42501", "42P01", "42703"})
"""No right to a table; a table or column that is missing before the migration."""


@contextmanager
def away_as_unavailable() -> Iterator[None]:
    """Turn "Postgres is away" into `Unavailable` (503); other errors pass."""
    try:
        yield
    except Exception as error:
        if is_away(error):
            raise Unavailable("The database does not answer; try again in a few seconds.") from error
        raise
