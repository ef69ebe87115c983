"""One leader among several controllers: a row in `leases`, and a fence around each of its writes.

All times are Postgres's own (`now()`), so that controllers with skewed clocks agree. There are no session locks: behind
a pooler in transaction mode they would belong to nobody (PgBouncer).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, literal_column, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.controller.models import LeaseRow
from app.controller.together import wait_for_event
from app.db import Sessions, is_away, table
from app.telemetry import get_logger

LEASE_NAME = "controller"

leases = table(LeaseRow)

_RENEWALS_A_LEASE = 3
_IDLE_LIMIT = "10s"
_log = get_logger(__name__)


class LeadershipLost(Exception):
    """This process does not lead (any more): its writes are refused."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A term as the leader.

    Attributes:
        holder: id of the process that leads.
        epoch: number of the term; it goes up with each change of the holder.
        valid_until: on this process's monotonic clock, in seconds; measured before the row was written.
    """

    holder: UUID
    epoch: int
    valid_until: float


async def acquire(
    sessions: Sessions, holder: UUID, seconds: float, *, clock: Callable[[], float] = time.monotonic
) -> Lease | None:
    """Become the leader if nobody else is; None otherwise.

    The row is locked `FOR UPDATE`, which waits for the writes that the old leader still has open and refuses those that
    it begins later.
    """
    asked_at = clock()
    async with sessions.begin() as session:
        first = upsert(leases).values(
            name=LEASE_NAME, holder=holder, epoch=0, expires_at=literal_column("now()"), status={}
        )
        await session.execute(first.on_conflict_do_nothing())
        free = select(leases.c.epoch).where(leases.c.name == LEASE_NAME, leases.c.expires_at <= func.now())
        epoch = (await session.execute(free.with_for_update())).scalar_one_or_none()
        if epoch is None:
            return None
        await session.execute(
            update(leases)
            .where(leases.c.name == LEASE_NAME)
            .values(holder=holder, epoch=epoch + 1, expires_at=func.now() + timedelta(seconds=seconds), status={})
        )
    return Lease(holder, epoch + 1, asked_at + seconds)


async def renew(
    sessions: Sessions,
    lease: Lease,
    seconds: float,
    status: dict[str, Any] | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Lease:
    """Go on leading for `seconds` from now, and say what the leader sees of the cluster.

    Raises:
        LeadershipLost: another process took over.
    """
    asked_at = clock()
    values: dict[str, Any] = {"expires_at": func.now() + timedelta(seconds=seconds)}
    if status is not None:
        values["status"] = status
    async with sessions.begin() as session:
        renewed = await session.execute(update(leases).where(*_is(lease)).values(values).returning(leases.c.epoch))
        if renewed.scalar_one_or_none() is None:
            raise LeadershipLost
    return Lease(lease.holder, lease.epoch, asked_at + seconds)


async def release(sessions: Sessions, lease: Lease) -> None:
    """Stop leading at once, so that another process need not wait for the lease to run out."""
    async with sessions.begin() as session:
        await session.execute(update(leases).where(*_is(lease)).values(expires_at=func.now(), status={}))


async def keep(
    sessions: Sessions,
    lease: Lease,
    seconds: float,
    status: Callable[[], dict[str, Any]],
    *,
    news: asyncio.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Renew for ever: at once, then each third of the lease, and when there are news to write into the row.

    Raises:
        LeadershipLost: another process took over, or the lease could not be renewed before it ran out.
    """
    pause = seconds / _RENEWALS_A_LEASE
    news = news or asyncio.Event()
    while True:
        try:
            async with asyncio.timeout(max(0.0, lease.valid_until - clock())):
                lease = await renew(sessions, lease, seconds, status(), clock=clock)
        except Exception as error:
            if not is_away(error):
                raise
            if clock() >= lease.valid_until:
                raise LeadershipLost from error
            _log.warning("lease_not_renewed", seconds_left=round(lease.valid_until - clock(), 1))
            await asyncio.sleep(min(pause / _RENEWALS_A_LEASE, 1.0))
        else:
            await wait_for_event(news, min(pause, max(0.0, lease.valid_until - clock())))


@asynccontextmanager
async def fenced(sessions: Sessions, lease: Lease) -> AsyncIterator[AsyncSession]:
    """Open a transaction of the leader: it commits only while the lease's epoch is the present one.

    The lease row is locked `FOR KEY SHARE`: the leader's own renewals pass it, a takeover (`FOR UPDATE`) waits for it.
    A process that was stopped in the middle is ended by Postgres after 10 s, so that no takeover waits for ever.

    Raises:
        LeadershipLost: another process leads.
    """
    async with sessions.begin() as session:
        limit = func.set_config("idle_in_transaction_session_timeout", _IDLE_LIMIT, True)  # noqa: FBT003 - SQL
        statement = select(leases.c.epoch, limit).where(*_is(lease)).with_for_update(read=True, key_share=True)
        if (await session.execute(statement)).one_or_none() is None:
            raise LeadershipLost
        yield session


def _is(lease: Lease) -> tuple[Any, ...]:
    return leases.c.name == LEASE_NAME, leases.c.holder == lease.holder, leases.c.epoch == lease.epoch
