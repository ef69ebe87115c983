"""Giving endpoints their turns, for ever: many side by side, so that a slow one holds up nobody but itself."""

import asyncio
import time
from contextlib import suppress
from uuid import UUID

from app.db import Sessions, is_away, new_id
from app.jobs.horizon import Horizon
from app.settings import Settings
from app.telemetry import get_logger
from app.webhooks import claims, store
from app.webhooks.addresses import Allowed
from app.webhooks.claims import Claim
from app.webhooks.sealing import SecretBox
from app.webhooks.sending import Resolver, Sender
from app.webhooks.serving import TURN_SECONDS, Server
from app.webhooks.verdict import DeliveryState, Rules

PRUNE_SECONDS = 60.0
_PRUNED_AT_A_TIME = 1_000
_PRUNES_A_ROUND = 20
_LEASE_BEYOND_A_TURN_SECONDS = 30.0
_LONGEST_PAUSE_SECONDS = 60.0
_GIVE_BACK_SECONDS = 3.0
_log = get_logger(__name__)


class Dispatcher:
    """Hands out turns. Several may run: an endpoint is one's at a time, and a message is repeated at most."""

    def __init__(self, settings: Settings, server: Server, horizon: Horizon) -> None:
        self._settings = settings
        self._server = server
        self._horizon = horizon
        self._turns: dict[asyncio.Task[None], UUID] = {}
        self._last_token = new_id()
        self._again = asyncio.Event()
        self._pruned_at = float("-inf")
        # a turn's last attempt may begin at its end
        self._lease_seconds = TURN_SECONDS + settings.webhook_timeout_seconds + _LEASE_BEYOND_A_TURN_SECONDS

    async def run(self) -> None:
        """Work until cancelled; raises nothing else."""
        failures = 0
        try:
            while True:
                try:
                    await self._hand_out()
                    await self._prune()
                    failures = 0
                except Exception as error:  # noqa: BLE001 - jobs must go on whatever happens to webhooks
                    failures += 1
                    _report("webhooks_failed", error)
                await self._wait(
                    min(self._settings.work_poll_seconds * 2.0 ** min(failures, 10), _LONGEST_PAUSE_SECONDS)
                )
        finally:
            taken = {*self._turns.values(), self._last_token}
            for turn in self._turns:
                turn.cancel()
            await asyncio.gather(*self._turns, return_exceptions=True)
            await self._give_back(taken)

    async def _give_back(self, taken: set[UUID]) -> None:
        """Free what is still taken, so that the next leader need not wait for leases to run out."""
        with suppress(Exception):  # Postgres may be away, and then they do
            async with asyncio.timeout(_GIVE_BACK_SECONDS), self._server.transaction() as session:
                await claims.release_all(session, taken)

    async def _hand_out(self) -> None:
        free = self._settings.webhook_concurrency - len(self._turns)
        if free <= 0:
            return
        async with self._server.transaction() as session:
            if not await claims.is_anyone_there(session):
                return
            until = await self._horizon.look(session)
            self._last_token = new_id()
            found = await claims.claim(
                session, self._last_token, until=until, limit=free, lease_seconds=self._lease_seconds
            )
        for each in found:
            turn = asyncio.create_task(self._take_turn(each))
            self._turns[turn] = each.token
            turn.add_done_callback(self._turns.pop)

    async def _take_turn(self, claim: Claim) -> None:
        try:
            if await self._server.serve(claim):
                self._again.set()  # there may be more, of it or of one that waited for a turn
        except Exception as error:  # noqa: BLE001 - the next turn tries again
            _report("webhook_turn_failed", error, webhook_id=str(claim.webhook_id))

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._again.wait()
        self._again.clear()

    async def _prune(self) -> None:
        """Remove ended messages that are old enough, now and then."""
        if time.monotonic() - self._pruned_at < PRUNE_SECONDS:
            return
        self._pruned_at = time.monotonic()
        kept = {
            DeliveryState.DELIVERED: self._settings.webhook_delivered_seconds,
            DeliveryState.DEAD: self._settings.webhook_dead_seconds,
        }
        for state, seconds in kept.items():
            for _ in range(_PRUNES_A_ROUND):
                async with self._server.transaction() as session:
                    removed = await store.prune(session, state, seconds, _PRUNED_AT_A_TIME)
                if removed < _PRUNED_AT_A_TIME:
                    break


async def send_for_ever(settings: Settings, sessions: Sessions) -> None:
    """Send webhooks as the settings say, until cancelled."""
    resolver = Resolver(settings.webhook_concurrency)
    try:
        sender = Sender(
            Allowed.of(settings.webhook_allow),
            allow_http=settings.webhook_allow_http,
            timeout_seconds=settings.webhook_timeout_seconds,
            resolve=resolver,
        )
        rules = Rules(settings.webhook_retry_seconds, settings.webhook_disable_seconds)
        horizon = Horizon()
        server = Server(sessions, sender, SecretBox(settings.webhook_keys), rules, horizon=horizon)
        await Dispatcher(settings, server, horizon).run()
    finally:
        resolver.close()


def _report(event: str, error: Exception, **facts: str) -> None:
    if is_away(error):
        _log.info(event, error=type(error).__name__, **facts)
    else:
        _log.error(event, exc_info=error, **facts)
