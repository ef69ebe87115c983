"""Every statement of the controller about queues: what is wanted of them, and what was seen of them."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, null, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import table
from app.queues.models import QueueRow

queues = table(QueueRow)


async def read_queues(session: AsyncSession) -> list[QueueRow]:
    """All queues, by name."""
    rows = await session.execute(select(queues).order_by(queues.c.name))
    return [QueueRow(**row) for row in rows.mappings()]


async def write_observed(session: AsyncSession, seen: Mapping[str, dict[str, Any] | None]) -> None:
    """Write what was seen of queues, and that it was seen now; None for a queue that is not there."""
    for name, observed in sorted(seen.items()):
        await session.execute(
            update(queues)
            .where(queues.c.name == name)
            .values(observed=null() if observed is None else observed, observed_at=func.now())
        )


async def write_problem(session: AsyncSession, name: str, generation: int, problem: str | None) -> None:
    """Write what Volcano said to this generation of a queue; None when it took it."""
    await session.execute(
        update(queues)
        .where(queues.c.name == name, queues.c.generation == generation, queues.c.problem.is_distinct_from(problem))
        .values(problem=problem)
    )
