"""SQL statements about endpoints and their deliveries, for those who manage them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import new_id, table
from app.webhooks.event_types import PING
from app.webhooks.models import WebhookDeliveryRow, WebhookRow
from app.webhooks.verdict import DeliveryState

webhooks = table(WebhookRow)
deliveries = table(WebhookDeliveryRow)

AFRESH: dict[str, Any] = {
    "state": DeliveryState.PENDING,
    "attempts": 0,
    "next_at": func.now(),
    "ended_at": None,
}
"""What a delivery that is to be sent again is set to; what its last attempt brought stays to be read."""


async def count_webhooks(session: AsyncSession, team: str) -> int:
    """How many endpoints a team has."""
    statement = select(func.count()).select_from(webhooks).where(webhooks.c.team == team)
    return int((await session.execute(statement)).scalar_one())


async def insert_webhook(session: AsyncSession, row: WebhookRow) -> None:
    """Add an endpoint."""
    await session.execute(insert(webhooks).values(row.model_dump()))


async def find_webhook(session: AsyncSession, team: str, webhook_id: UUID, *, lock: bool = False) -> WebhookRow | None:
    """An endpoint of a team, locked until the transaction ends if so asked."""
    statement = select(webhooks).where(webhooks.c.id == webhook_id, webhooks.c.team == team)
    if lock:
        statement = statement.with_for_update(key_share=True)
    row = (await session.execute(statement)).mappings().one_or_none()
    return None if row is None else WebhookRow(**row)


async def list_webhooks(session: AsyncSession, team: str, after: UUID | None, limit: int) -> list[WebhookRow]:
    """Endpoints of a team in the order in which they were added."""
    statement = select(webhooks).where(webhooks.c.team == team).order_by(webhooks.c.id).limit(limit)
    if after is not None:
        statement = statement.where(webhooks.c.id > after)
    return [WebhookRow(**row) for row in (await session.execute(statement)).mappings()]


async def update_webhook(session: AsyncSession, webhook_id: UUID, values: Mapping[str, Any]) -> WebhookRow:
    """Write columns of an endpoint that the transaction has locked, and return all of it."""
    statement = update(webhooks).where(webhooks.c.id == webhook_id).values(**values).returning(*webhooks.c)
    return WebhookRow(**(await session.execute(statement)).mappings().one())


async def delete_webhook(session: AsyncSession, team: str, webhook_id: UUID) -> bool:
    """Remove an endpoint with its deliveries, and say whether there was one."""
    statement = delete(webhooks).where(webhooks.c.id == webhook_id, webhooks.c.team == team).returning(webhooks.c.id)
    return (await session.execute(statement)).one_or_none() is not None


async def insert_ping(session: AsyncSession, webhook_id: UUID) -> WebhookDeliveryRow:
    """Add a message that is about no event, to be sent now."""
    values = {"id": new_id(), "webhook_id": webhook_id, "type": PING, "attempts": 0, "created_at": func.now()}
    statement = insert(deliveries).values(**values, state=DeliveryState.PENDING, next_at=func.now())
    row = (await session.execute(statement.returning(*deliveries.c))).mappings().one()
    return WebhookDeliveryRow(**row)


async def list_deliveries(
    session: AsyncSession, webhook_id: UUID, state: DeliveryState | None, after: UUID | None, limit: int
) -> list[WebhookDeliveryRow]:
    """Messages to an endpoint, the latest first."""
    statement = select(deliveries).where(deliveries.c.webhook_id == webhook_id).order_by(deliveries.c.id.desc())
    if state is not None:
        statement = statement.where(deliveries.c.state == state)
    if after is not None:
        statement = statement.where(deliveries.c.id < after)
    rows = (await session.execute(statement.limit(limit))).mappings()
    return [WebhookDeliveryRow(**row) for row in rows]


async def find_delivery(session: AsyncSession, webhook_id: UUID, delivery_id: UUID) -> WebhookDeliveryRow | None:
    """One message to an endpoint."""
    statement = select(deliveries).where(deliveries.c.id == delivery_id, deliveries.c.webhook_id == webhook_id)
    row = (await session.execute(statement)).mappings().one_or_none()
    return None if row is None else WebhookDeliveryRow(**row)


async def send_again(session: AsyncSession, webhook_id: UUID, delivery_id: UUID) -> WebhookDeliveryRow | None:
    """Set a message back to be sent now, with all its attempts; None when there is no such message."""
    statement = (
        update(deliveries)
        .where(deliveries.c.id == delivery_id, deliveries.c.webhook_id == webhook_id)
        .values(**AFRESH)
        .returning(*deliveries.c)
    )
    row = (await session.execute(statement)).mappings().one_or_none()
    return None if row is None else WebhookDeliveryRow(**row)


async def prune(session: AsyncSession, state: DeliveryState, seconds: float, limit: int) -> int:
    """Remove up to `limit` messages that ended in a state so long ago; returns how many."""
    old = (
        select(deliveries.c.id)
        .where(
            deliveries.c.state == state,
            deliveries.c.ended_at < func.now() - timedelta(seconds=seconds),
        )
        .order_by(deliveries.c.ended_at)
        .limit(limit)
    )
    removed = await session.execute(delete(deliveries).where(deliveries.c.id.in_(old)).returning(deliveries.c.id))
    return len(removed.all())


def moment_from_now(seconds: float) -> Any:
    """Postgres' own present moment and so many seconds."""
    return func.now() + timedelta(seconds=seconds)
