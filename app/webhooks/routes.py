"""Routes of a team's webhooks."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from app import problems
from app.auth.access import TeamManager
from app.dependencies import AppSettings, Reading, SessionMaker, Transaction
from app.errors import Conflict, NotFound
from app.paging import Page, Paged
from app.teams.service import get_team
from app.webhooks import service, store
from app.webhooks.schemas import (
    DeliveryRead,
    ReplayRequest,
    SecretRotated,
    WebhookCreate,
    WebhookCreated,
    WebhookPatch,
    WebhookRead,
)
from app.webhooks.verdict import DeliveryState

router = APIRouter(prefix="/v1/teams/{team}/webhooks", tags=["webhooks"])

_CONFLICT = problems.responses(Conflict)


@router.post("", status_code=HTTPStatus.CREATED, responses=_CONFLICT)
async def create_webhook(
    *,
    team: str,
    body: WebhookCreate,
    caller: TeamManager,
    settings: AppSettings,
    sessions: SessionMaker,
    request: Request,
    response: Response,
) -> WebhookCreated:
    """Add an endpoint, which gets the team's events from now on. The secret is in this answer only."""
    row, secret = await service.create_webhook(sessions, settings, caller, team, body)
    response.headers["Location"] = problems.location(request, f"/v1/teams/{team}/webhooks/{row.id}")
    return WebhookCreated(**WebhookRead.of(row).model_dump(), secret=secret)


@router.get("")
async def list_webhooks(
    team: str, caller: TeamManager, session: Reading, paged: Paged, response: Response
) -> Page[WebhookRead]:
    """List a team's webhooks in the order in which they were added."""
    await get_team(session, team)
    rows = await store.list_webhooks(session, team, paged.after_id(), paged.limit + 1)
    return paged.page(response, [WebhookRead.of(row) for row in rows], [str(row.id) for row in rows])


@router.get("/{webhook_id}")
async def get_webhook(team: str, webhook_id: UUID, caller: TeamManager, session: Reading) -> WebhookRead:
    """Read a webhook, without its secret."""
    return WebhookRead.of(await service.get_webhook(session, team, webhook_id))


@router.patch("/{webhook_id}")
async def change_webhook(
    *,
    team: str,
    webhook_id: UUID,
    body: WebhookPatch,
    caller: TeamManager,
    settings: AppSettings,
    sessions: SessionMaker,
) -> WebhookRead:
    """Change a webhook. One that is turned on again gets events from then on; `replay` sends what it missed."""
    return WebhookRead.of(await service.change_webhook(sessions, settings, team, webhook_id, body))


@router.delete("/{webhook_id}", status_code=HTTPStatus.NO_CONTENT)
async def delete_webhook(team: str, webhook_id: UUID, caller: TeamManager, session: Transaction) -> None:
    """Remove a webhook with everything that was still to be sent to it. An attempt under way is not called back."""
    await service.delete_webhook(session, team, webhook_id)


@router.post("/{webhook_id}/rotate-secret")
async def rotate_webhook_secret(
    team: str, webhook_id: UUID, caller: TeamManager, settings: AppSettings, session: Transaction
) -> SecretRotated:
    """Make a new secret. It and the one before it sign until `previous_secret_until`; older ones sign no more."""
    row, secret = await service.rotate_secret(session, settings, team, webhook_id)
    if row.previous_until is None:
        raise NotFound("There is no such webhook.")
    return SecretRotated(secret=secret, previous_secret_until=row.previous_until)


@router.post("/{webhook_id}/test", status_code=HTTPStatus.ACCEPTED, responses=_CONFLICT)
async def test_webhook(team: str, webhook_id: UUID, caller: TeamManager, session: Transaction) -> DeliveryRead:
    """Have a `ping` sent; its delivery shows what came of it."""
    return DeliveryRead.of(await service.send_ping(session, team, webhook_id))


@router.post("/{webhook_id}/replay", status_code=HTTPStatus.ACCEPTED, responses=_CONFLICT)
async def replay_webhook(
    team: str, webhook_id: UUID, body: ReplayRequest, caller: TeamManager, session: Transaction
) -> WebhookRead:
    """Have every event behind an id sent again, with the `webhook-id` that it had."""
    return WebhookRead.of(await service.replay(session, team, webhook_id, body.after))


@router.get("/{webhook_id}/deliveries")
async def list_deliveries(
    *,
    team: str,
    webhook_id: UUID,
    caller: TeamManager,
    session: Reading,
    paged: Paged,
    response: Response,
    state: Annotated[DeliveryState | None, Query(description="`dead` lists what was given up")] = None,
) -> Page[DeliveryRead]:
    """List the messages to a webhook, the latest first."""
    await service.get_webhook(session, team, webhook_id)
    rows = await store.list_deliveries(session, webhook_id, state, paged.after_id(), paged.limit + 1)
    return paged.page(response, [DeliveryRead.of(row) for row in rows], [str(row.id) for row in rows])


@router.get("/{webhook_id}/deliveries/{delivery_id}")
async def get_delivery(
    team: str, webhook_id: UUID, delivery_id: UUID, caller: TeamManager, session: Reading
) -> DeliveryRead:
    """Read one message to a webhook."""
    await service.get_webhook(session, team, webhook_id)
    row = await store.find_delivery(session, webhook_id, delivery_id)
    if row is None:
        raise NotFound("There is no such delivery.")
    return DeliveryRead.of(row)


@router.post("/{webhook_id}/deliveries/{delivery_id}/resend", status_code=HTTPStatus.ACCEPTED, responses=_CONFLICT)
async def resend_delivery(
    team: str, webhook_id: UUID, delivery_id: UUID, caller: TeamManager, session: Transaction
) -> DeliveryRead:
    """Have one message sent again at once, whether it was delivered or given up, with all its attempts."""
    return DeliveryRead.of(await service.send_again(session, team, webhook_id, delivery_id))
