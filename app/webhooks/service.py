"""Managing a team's webhooks."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.principal import Principal
from app.db import Sessions, away_as_unavailable, new_id, now
from app.errors import Conflict, NotFound, ValidationError
from app.settings import Settings
from app.teams.store import lock_team
from app.validation import NULL_HAS_NO_MEANING, invalid
from app.webhooks import store
from app.webhooks.addresses import Allowed
from app.webhooks.models import WebhookDeliveryRow, WebhookRow
from app.webhooks.position import present_position
from app.webhooks.schemas import WebhookCreate, WebhookPatch
from app.webhooks.sealing import SecretBox
from app.webhooks.signing import new_secret
from app.webhooks.urls import fault_in_url

_HEALTHY: dict[str, Any] = {"failures": 0, "failing_since": None, "paused_until": None}


async def create_webhook(
    sessions: Sessions, settings: Settings, caller: Principal, team: str, wanted: WebhookCreate
) -> tuple[WebhookRow, str]:
    """Add an endpoint, which gets the events from now on; returns it with its secret.

    Raises:
        NotFound: there is no such team.
        ValidationError: the URL may not be called.
        Conflict: the team has as many as it may.
    """
    _check_url(settings, wanted.url)
    moment, secret = now(), new_secret()
    with away_as_unavailable():
        position = await present_position(sessions)
        async with sessions.begin() as session:
            await _require_room(session, team, settings.webhooks_per_team)
            row = WebhookRow(
                id=new_id(),
                team=team,
                **wanted.model_dump(),
                secret=SecretBox(settings.webhook_keys).seal(secret),
                position=position,
                served_at=moment,
                created_at=moment,
                created_by=caller.subject,
                updated_at=moment,
            )
            await store.insert_webhook(session, row)
    return row, secret


async def _require_room(session: AsyncSession, team: str, limit: int) -> None:
    if await lock_team(session, team) is None:  # one after the other, so that the count is right
        raise NotFound("There is no such team.")
    count = await store.count_webhooks(session, team)
    if count >= limit:
        raise Conflict(f"The team has {count} webhooks, and {limit} is the limit; remove one first.")


async def get_webhook(session: AsyncSession, team: str, webhook_id: UUID, *, lock: bool = False) -> WebhookRow:
    """Read an endpoint, or raise `NotFound`."""
    row = await store.find_webhook(session, team, webhook_id, lock=lock)
    if row is None:
        raise NotFound("There is no such webhook.")
    return row


async def change_webhook(
    sessions: Sessions, settings: Settings, team: str, webhook_id: UUID, wanted: WebhookPatch
) -> WebhookRow:
    """Change an endpoint.

    One that is turned on again gets events from then on; `replay` sends those that it missed.

    Raises:
        NotFound: there is no such endpoint.
        ValidationError: the URL may not be called, or a field is null.
    """
    given = wanted.model_dump(exclude_unset=True)
    nulls = [invalid((name,), NULL_HAS_NO_MEANING, "null") for name, value in given.items() if value is None]
    if nulls:
        raise ValidationError(nulls)
    if "url" in given:
        _check_url(settings, given["url"])
    with away_as_unavailable():
        position = await present_position(sessions) if wanted.enabled else 0
        async with sessions.begin() as session:
            row = await get_webhook(session, team, webhook_id, lock=True)
            values = _changes(row, given, position)
            return await store.update_webhook(session, webhook_id, values) if values else row


def _changes(row: WebhookRow, given: Mapping[str, Any], position: int) -> dict[str, Any]:
    values = {name: value for name, value in given.items() if value != getattr(row, name)}
    if "url" in values:
        values |= _HEALTHY
    if values.get("enabled"):
        values |= {**_HEALTHY, "disabled_reason": None, "position": position}
    return values | {"updated_at": now()} if values else {}


async def rotate_secret(
    session: AsyncSession, settings: Settings, team: str, webhook_id: UUID
) -> tuple[WebhookRow, str]:
    """Give an endpoint a new secret; the one before it goes on signing for `webhook_rotation_seconds`."""
    row = await get_webhook(session, team, webhook_id, lock=True)
    secret, moment = new_secret(), now()
    values = {
        "secret": SecretBox(settings.webhook_keys).seal(secret),
        "previous_secret": row.secret,
        "previous_until": moment + timedelta(seconds=settings.webhook_rotation_seconds),
        "updated_at": moment,
    }
    return await store.update_webhook(session, webhook_id, values), secret


async def delete_webhook(session: AsyncSession, team: str, webhook_id: UUID) -> None:
    """Remove an endpoint with its deliveries, or raise `NotFound`."""
    if not await store.delete_webhook(session, team, webhook_id):
        raise NotFound("There is no such webhook.")


async def send_ping(session: AsyncSession, team: str, webhook_id: UUID) -> WebhookDeliveryRow:
    """Have a ping sent to an endpoint.

    Raises:
        NotFound: there is no such endpoint.
        Conflict: it is turned off.
    """
    await _enabled(session, team, webhook_id)
    return await store.insert_ping(session, webhook_id)


async def send_again(session: AsyncSession, team: str, webhook_id: UUID, delivery_id: UUID) -> WebhookDeliveryRow:
    """Have one message sent again at once.

    Raises:
        NotFound: there is no such endpoint or message.
        Conflict: the endpoint is turned off.
    """
    await _enabled(session, team, webhook_id)
    row = await store.send_again(session, webhook_id, delivery_id)
    if row is None:
        raise NotFound("There is no such delivery.")
    return row


async def replay(session: AsyncSession, team: str, webhook_id: UUID, after: int) -> WebhookRow:
    """Have every event behind an id sent once more; one that is ahead of the endpoint's place changes nothing.

    Raises:
        NotFound: there is no such endpoint.
        Conflict: it is turned off.
    """
    row = await _enabled(session, team, webhook_id)
    if after >= row.position:
        return row
    return await store.update_webhook(session, webhook_id, {"position": after, "paused_until": None})


async def _enabled(session: AsyncSession, team: str, webhook_id: UUID) -> WebhookRow:
    row = await get_webhook(session, team, webhook_id, lock=True)
    if not row.enabled:
        raise Conflict("The webhook is turned off; turn it on with enabled: true first.")
    return row


def _check_url(settings: Settings, url: str) -> None:
    fault = fault_in_url(url, Allowed.of(settings.webhook_allow), allow_http=settings.webhook_allow_http)
    if fault is not None:
        raise ValidationError([invalid(("url",), *fault)])
