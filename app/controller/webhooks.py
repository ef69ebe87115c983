"""Webhooks as a part of the leader's term, apart from all others: whatever happens to them, jobs go on."""

import asyncio

from app.db import Sessions
from app.settings import Settings
from app.telemetry import get_logger
from app.webhooks.dispatch import send_for_ever

_PAUSE_SECONDS = 30.0
_log = get_logger(__name__)


async def send_webhooks(settings: Settings, sessions: Sessions) -> None:
    """Send webhooks for ever. An error is logged and begun again after; it never ends the term."""
    while True:
        try:
            await send_for_ever(settings, sessions)
        except Exception as error:  # noqa: BLE001 - see above
            _log.error("webhooks_stopped", exc_info=error)
        await asyncio.sleep(_PAUSE_SECONDS)
