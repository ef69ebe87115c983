"""SQL statements of whoever sends: which endpoint has something to be sent, what, and what came of it.

An endpoint belongs to one sender at a time, by a token with a lease. Nothing is locked while a message is under way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import new_id
from app.jobs.feed import read_after
from app.jobs.store import Row
from app.jobs.transitions import job_events
from app.webhooks.event_types import type_of
from app.webhooks.store import AFRESH, deliveries, moment_from_now, webhooks
from app.webhooks.verdict import DeliveryState, Outcome, Past, Verdict

_PENDING_AND_DUE = and_(deliveries.c.state == DeliveryState.PENDING, deliveries.c.next_at <= func.now())
_MAY_BE_SENT_TO = and_(
    webhooks.c.enabled, or_(webhooks.c.paused_until.is_(None), webhooks.c.paused_until <= func.now())
)

_FREE: dict[str, Any] = {"lock_token": None, "lock_expires_at": None}


@dataclass(frozen=True, slots=True)
class Claim:
    """An endpoint that we may send to, as long as its row has our token."""

    webhook_id: UUID
    team: str
    token: UUID


@dataclass(frozen=True, slots=True)
class Due:
    """A message that is to be sent now, and its endpoint as it is now.

    Attributes:
        delivery_id: of the message.
        event_id: what it is about; None for a ping.
        kind: its type.
        created_at: when it was made.
        url: where to.
        secrets: stored forms of those that sign, the present one first.
        past: what was before.
    """

    delivery_id: UUID
    event_id: int | None
    kind: str
    created_at: datetime
    url: str
    secrets: tuple[str, ...]
    past: Past


async def is_anyone_there(session: AsyncSession) -> bool:
    """Whether there is any endpoint that is turned on."""
    return bool((await session.execute(select(exists().where(webhooks.c.enabled)))).scalar_one())


async def claim(session: AsyncSession, token: UUID, *, until: int, limit: int, lease_seconds: float) -> list[Claim]:
    """Take endpoints that have something to be sent or looked at, those first that waited longest for their turn."""
    due = exists().where(deliveries.c.webhook_id == webhooks.c.id, _PENDING_AND_DUE)
    news = exists().where(
        job_events.c.team == webhooks.c.team, job_events.c.id > webhooks.c.position, job_events.c.id <= until
    )
    free = or_(webhooks.c.lock_expires_at.is_(None), webhooks.c.lock_expires_at < func.now())
    found = (
        select(webhooks.c.id)
        .where(_MAY_BE_SENT_TO, free, or_(due, news))
        .order_by(webhooks.c.served_at)
        .limit(limit)
        .with_for_update(skip_locked=True, key_share=True)
        .cte("found")
    )
    taken = await session.execute(
        update(webhooks)
        .where(webhooks.c.id == found.c.id)
        .values(lock_token=token, lock_expires_at=moment_from_now(lease_seconds), served_at=func.now())
        .returning(webhooks.c.id, webhooks.c.team)
    )
    return [Claim(row.id, row.team, token) for row in taken]


async def release(session: AsyncSession, claim: Claim) -> None:
    """Let others have the endpoint, unless they have it already."""
    await session.execute(update(webhooks).where(_ours(claim)).values(_FREE))


async def release_all(session: AsyncSession, tokens: Iterable[UUID]) -> None:
    """Let others have every endpoint that was taken with one of these tokens."""
    await session.execute(update(webhooks).where(webhooks.c.lock_token.in_(list(tokens))).values(_FREE))


async def take_events(session: AsyncSession, claim: Claim, *, until: int, limit: int) -> int:
    """Make messages of the next events that the endpoint wants, and return how many events were looked at.

    The messages and the endpoint's new place are one transaction, so no event is passed over and none is made twice.
    Where the place was set back, a message that is there already is sent again.
    """
    statement = select(webhooks.c.position, webhooks.c.events).where(_ours(claim), _MAY_BE_SENT_TO)
    place = (await session.execute(statement.with_for_update(key_share=True))).one_or_none()
    if place is None or place.position >= until:
        return 0
    events, position = await read_after(session, place.position, until=until, limit=limit, team=claim.team)
    kinds = [(event, type_of(event["type"], event["state"])) for event in events]
    await _insert(session, claim, [(event, kind) for event, kind in kinds if not place.events or kind in place.events])
    await session.execute(update(webhooks).where(_ours(claim)).values(position=position))
    return len(events)


async def _insert(session: AsyncSession, claim: Claim, wanted: Sequence[tuple[Row, str]]) -> None:
    if not wanted:
        return
    statement = upsert(deliveries)
    again = statement.on_conflict_do_update(
        index_elements=[deliveries.c.webhook_id, deliveries.c.event_id],
        set_=AFRESH,
        where=deliveries.c.state != DeliveryState.PENDING,
    )
    values = {"webhook_id": claim.webhook_id, "state": DeliveryState.PENDING, "attempts": 0}
    moment = (await session.execute(select(func.now()))).scalar_one()
    await session.execute(
        again,
        [
            {"id": new_id(), "event_id": event["id"], "type": kind, "next_at": moment, "created_at": moment, **values}
            for event, kind in wanted
        ],
    )


async def next_due(session: AsyncSession, claim: Claim) -> Due | None:
    """The first message in the order of the events that is due now; None when there is none or we may not send."""
    statement = (
        select(
            *(deliveries.c[name] for name in ("id", "event_id", "type", "attempts", "created_at")),
            *(webhooks.c[name] for name in ("url", "secret", "failures")),
            func.coalesce(func.extract("epoch", func.now() - webhooks.c.failing_since), 0).label("failing_seconds"),
            _previous_secret().label("previous_secret"),
        )
        .join_from(webhooks, deliveries, deliveries.c.webhook_id == webhooks.c.id)
        .where(_ours(claim), _MAY_BE_SENT_TO, _PENDING_AND_DUE)
        .order_by(deliveries.c.event_id.nulls_first(), deliveries.c.id)
        .limit(1)
    )
    row = (await session.execute(statement)).one_or_none()
    if row is None:
        return None
    keys = (row.secret,) if row.previous_secret is None else (row.secret, row.previous_secret)
    past = Past(row.attempts, row.failures, float(row.failing_seconds))
    return Due(row.id, row.event_id, row.type, row.created_at, row.url, keys, past)


def _previous_secret() -> ColumnElement[Any]:
    """The secret before the present one, as long as it signs."""
    present = webhooks.c.previous_until > func.now()
    return select(webhooks.c.previous_secret).where(present).correlate(webhooks).scalar_subquery()


async def find_event(session: AsyncSession, claim: Claim, event_id: int) -> Row | None:
    """An event of the team, as the feed shows it."""
    events, _ = await read_after(session, event_id - 1, until=event_id, limit=1, team=claim.team)
    return events[0] if events else None


async def drop(session: AsyncSession, delivery_id: UUID) -> None:
    """Remove a message whose job is gone."""
    await session.execute(delete(deliveries).where(deliveries.c.id == delivery_id))


async def record(session: AsyncSession, claim: Claim, due: Due, outcome: Outcome, verdict: Verdict) -> bool:
    """Write what came of an attempt, and say whether the endpoint was still ours.

    When it was not, another sender has taken over and sends the message once more.
    """
    held = await session.execute(update(webhooks).where(_ours(claim)).values(_health(verdict)).returning(webhooks.c.id))
    if held.one_or_none() is None:
        return False
    delay = verdict.delay_seconds
    await session.execute(
        update(deliveries)
        .where(deliveries.c.id == due.delivery_id)
        .values(
            state=verdict.state,
            attempts=deliveries.c.attempts + 1,
            attempted_at=func.now(),
            next_at=None if delay is None else moment_from_now(delay),
            ended_at=func.now() if delay is None else None,
            last_status=outcome.status,
            last_error=outcome.error,
        )
    )
    return True


def _health(verdict: Verdict) -> dict[str, Any]:
    if verdict.state is DeliveryState.DELIVERED:
        return {"failures": 0, "failing_since": None, "paused_until": None}
    values: dict[str, Any] = {
        "failures": webhooks.c.failures + 1,
        "failing_since": func.coalesce(webhooks.c.failing_since, func.now()),
        "paused_until": moment_from_now(verdict.pause_seconds) if verdict.pause_seconds else None,
    }
    if verdict.disable is not None:
        values |= {"enabled": False, "disabled_reason": verdict.disable}
    return values


def _ours(claim: Claim) -> ColumnElement[bool]:
    return and_(webhooks.c.id == claim.webhook_id, webhooks.c.lock_token == claim.token)
