"""One endpoint's turn: its messages one after the other, in the order of the events, for a while."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Sessions, is_away, now
from app.jobs import store as job_store
from app.jobs.horizon import Horizon
from app.telemetry import WEBHOOKS_DEAD, WEBHOOKS_DELIVERED, WEBHOOKS_FAILED, get_logger
from app.webhooks import claims
from app.webhooks.claims import Claim, Due
from app.webhooks.payload import event_body, message_id, ping_body
from app.webhooks.sealing import SecretBox, Unreadable
from app.webhooks.sending import Line, Sender
from app.webhooks.signing import signed_headers
from app.webhooks.verdict import DeliveryState, Outcome, Rules, Verdict, judge

TURN_SECONDS = 30.0
MESSAGES_A_TURN = 100
EVENTS_AT_A_TIME = 200
"""New events are made messages only when nothing is due, so an endpoint that is down has few rows and not millions."""

_DATABASE_AT_ONCE = 2
"""Connections that all turns together may use: the controller's own work shares the pool."""

_log = get_logger(__name__)


class Server:
    """Serves endpoints. Times are Postgres' own, except that of the attempt, which is signed."""

    def __init__(
        self,
        sessions: Sessions,
        sender: Sender,
        box: SecretBox,
        rules: Rules,
        *,
        horizon: Horizon,
        clock: Callable[[], datetime] = now,
        luck: Callable[[], float] = random.random,
    ) -> None:
        self._sessions = sessions
        self._sender = sender
        self._box = box
        self._rules = rules
        self._horizon = horizon
        self._clock = clock
        self._luck = luck
        self._few = asyncio.Semaphore(_DATABASE_AT_ONCE)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        """One transaction, when one of the few connections is free."""
        async with self._few, self._sessions.begin() as session:
            yield session

    async def serve(self, claim: Claim) -> bool:
        """Send what is due, until nothing is or the turn is over; True when anything was sent.

        When it is cancelled or fails, the endpoint is still taken.
        """
        ends_at, worked = time.monotonic() + TURN_SECONDS, False
        async with self._sender.line() as line:
            for _ in range(MESSAGES_A_TURN):
                due = await self._next(claim, ends_at)
                if due is None:
                    break
                worked = True
                if not await self._attempt(claim, line, due) or time.monotonic() >= ends_at:
                    break
        async with self.transaction() as session:
            await claims.release(session, claim)
        return worked

    async def _next(self, claim: Claim, ends_at: float) -> Due | None:
        while True:
            async with self.transaction() as session:
                due = await claims.next_due(session, claim)
                if due is not None:
                    return due
                until = await self._horizon.look(session)
                looked_at = await claims.take_events(session, claim, until=until, limit=EVENTS_AT_A_TIME)
            if looked_at == 0 or time.monotonic() >= ends_at:
                return None

    async def _attempt(self, claim: Claim, line: Line, due: Due) -> bool:
        """Send one message and write what came of it; False when the endpoint is not ours any more."""
        try:
            body = await self._body(claim, due)
        except Exception as error:
            if is_away(error):
                raise
            # a mistake of ours about one job must not stand before all messages behind it
            _log.error("webhook_message_not_made", exc_info=error, webhook_id=str(claim.webhook_id))
            outcome = Outcome(error="The message could not be made; the log of the controller says why.")
        else:
            if body is None:
                return True
            outcome = await self._send(claim, line, due, body)
        verdict = judge(outcome, due.past, self._rules, luck=self._luck())
        async with self.transaction() as session:
            ours = await claims.record(session, claim, due, outcome, verdict)
        if ours:
            _count(verdict)
        return ours

    async def _body(self, claim: Claim, due: Due) -> str | None:
        """The message; None when its job is gone, and then there is no message any more."""
        if due.event_id is None:
            return ping_body(due.kind, claim.webhook_id, due.created_at)
        async with self.transaction() as session:
            event = await claims.find_event(session, claim, due.event_id)
            job = None if event is None else await job_store.find(session, event["job_id"], claim.team)
            if event is None or job is None:
                await claims.drop(session, due.delivery_id)
                return None
        return event_body(due.kind, event, job)

    async def _send(self, claim: Claim, line: Line, due: Due, body: str) -> Outcome:
        try:
            keys = [self._box.open(stored) for stored in due.secrets]
        except Unreadable:
            return Outcome(error="The secret cannot be read with the keys of this installation; rotate it.")
        name = message_id(claim.webhook_id, due.event_id, due.delivery_id)
        return await line.post(due.url, signed_headers(name, self._clock(), body, keys), body)


def _count(verdict: Verdict) -> None:
    if verdict.state is DeliveryState.DELIVERED:
        WEBHOOKS_DELIVERED.inc()
        return
    WEBHOOKS_FAILED.inc()
    if verdict.state is DeliveryState.DEAD:
        WEBHOOKS_DEAD.inc()
