"""Every SQL statement of the API about queues."""

from typing import Any

from sqlalchemy import Row, Select, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import table
from app.queues.models import QueueRow
from app.teams.models import TeamQueueRow

queues = table(QueueRow)
team_queues = table(TeamQueueRow)

CHANNEL = "pumice_queues"
"""Postgres channel that carries the names of queues on which the controller should look; a hint, never the truth."""

_TREE_LOCK = 0x7175657565  # "queue" in ASCII; any number that nobody else uses


async def lock_tree(session: AsyncSession) -> None:
    """Wait for other changes of who is whose parent, so that two of them cannot make a circle together."""
    await session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _TREE_LOCK})


async def insert_queue(session: AsyncSession, row: QueueRow) -> bool:
    """Add a queue, and say whether it was added: not when its name is in use."""
    added = await session.execute(
        upsert(queues).values(row.model_dump()).on_conflict_do_nothing().returning(queues.c.name)
    )
    return added.one_or_none() is not None


async def update_queue(session: AsyncSession, row: QueueRow) -> None:
    """Write what is wanted of a queue; what was seen of it is the controller's to write."""
    wanted = row.model_dump(exclude={"name", "observed", "observed_at", "created_at"})
    await session.execute(update(queues).where(queues.c.name == row.name).values(wanted))


async def lock_queue(session: AsyncSession, name: str) -> QueueRow | None:
    """The queue, locked until the transaction ends."""
    statement = select(queues).where(queues.c.name == name).with_for_update(key_share=True)
    return _queue((await session.execute(statement)).one_or_none())


async def find_queue(session: AsyncSession, name: str, team: str | None = None) -> QueueRow | None:
    """The queue; with a team, only when it is granted to that team."""
    statement = _visible_to(team).where(queues.c.name == name)
    return _queue((await session.execute(statement)).one_or_none())


async def list_queues(session: AsyncSession, team: str | None, after: str | None, limit: int) -> list[QueueRow]:
    """Up to `limit` queues by name behind the name `after`; with a team, those granted to it."""
    statement = _visible_to(team).order_by(queues.c.name).limit(limit)
    if after is not None:
        statement = statement.where(queues.c.name > after)
    return [QueueRow(**row) for row in (await session.execute(statement)).mappings()]


async def parents(session: AsyncSession) -> dict[str, str | None]:
    """Every queue with its parent."""
    rows = await session.execute(select(queues.c.name, queues.c.parent))
    return {row.name: row.parent for row in rows}


async def notify(session: AsyncSession, name: str) -> None:
    """Tell the controller, when this transaction commits, to look at a queue."""
    await session.execute(select(func.pg_notify(CHANNEL, name)))


def _visible_to(team: str | None) -> Select[Any]:
    if team is None:
        return select(queues)
    granted = select(team_queues.c.queue).where(team_queues.c.team == team)
    return select(queues).where(queues.c.name.in_(granted))


def _queue(row: Row[Any] | None) -> QueueRow | None:
    return None if row is None else QueueRow(**row._mapping)  # noqa: SLF001  the documented way to a row's names
