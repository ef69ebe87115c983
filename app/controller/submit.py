"""Hand claimed jobs to the API server: a pool of create calls, and one writer of what came of them.

S1 is `_claim`, S2 and S3 are `Submission.send`, S4 is `_record`. No call is ever repeated here: a claim whose answer
was lost is left until its lease runs out, and the next one finds the Job by its name.
"""

import asyncio
import time
from collections.abc import Callable
from uuid import UUID, uuid4

from app.controller.leader import Lease, fenced
from app.controller.pacing import Pacer
from app.controller.sending import Sender, Sent, given_back
from app.controller.together import run_together, wait_for_event
from app.db import Sessions, is_away
from app.failpoints import SUBMIT_CLAIMED, SUBMIT_RECORDED, failpoint
from app.jobs import worklist
from app.jobs.worklist import Claim, Created
from app.telemetry import RECONCILE_ERRORS, get_logger

_AWAY_PAUSE_SECONDS = 1.0
_LEAST_DELAY_SECONDS = 0.05
_PATIENCE_SECONDS = 1.0
_CLAIMS_A_CALL = 8
_SPARE_CLAIMS_A_CALL = 4
_MOST_RECORDED = 200
_GATHER_SECONDS = 0.03
_log = get_logger(__name__)


class Submitter:
    """Claims due jobs and sends them.

    Args:
        sessions: to Postgres.
        lease: of the leader, fences each write.
        sender: makes the create calls.
        pacer: says how many at a time.
        concurrency: create calls in flight at the most.
        lease_seconds: of a claim.
        poll_seconds: between two looks at the work list.
        look: called with the id of each job that was sent or given back.
    """

    def __init__(
        self,
        sessions: Sessions,
        lease: Lease,
        sender: Sender,
        pacer: Pacer,
        *,
        concurrency: int,
        lease_seconds: float,
        poll_seconds: float,
        look: Callable[[UUID], None],
    ) -> None:
        self._sessions = sessions
        self._lease = lease
        self._sender = sender
        self._pacer = pacer
        self._concurrency = concurrency
        self._spare = _SPARE_CLAIMS_A_CALL * concurrency
        self._lease_seconds = lease_seconds
        self._usable_seconds = lease_seconds - sender.create_seconds
        self._poll_seconds = poll_seconds
        self._look = look
        self._claims: asyncio.Queue[tuple[Claim, float]] = asyncio.Queue()
        self._sent: asyncio.Queue[Sent] = asyncio.Queue()
        self._hungry = asyncio.Event()
        self._due = asyncio.Event()
        self.submitting: set[UUID] = set()

    @property
    def busy(self) -> bool:
        """Whether as many jobs are on their way as can be."""
        return len(self.submitting) >= self._concurrency

    def wake(self) -> None:
        """Look at the work list now."""
        self._due.set()

    async def run(self) -> None:
        """Submit for ever."""
        senders = (self._send_for_ever() for _ in range(self._concurrency))
        await run_together(self._claim_for_ever(), self._record_for_ever(), *senders)

    async def _claim_for_ever(self) -> None:
        while True:
            if self._pacer.pause_seconds > 0:
                await asyncio.sleep(self._pacer.pause_seconds)
            if self._claims.qsize() >= self._spare:
                self._hungry.clear()
                await self._hungry.wait()
            wanted = self._pacer.limit * _CLAIMS_A_CALL
            try:
                claims, due_in = await self._claim(wanted)
            except Exception as error:
                if not is_away(error):
                    raise
                await asyncio.sleep(_AWAY_PAUSE_SECONDS)
                continue
            if len(claims) < wanted:
                pause = self._poll_seconds if due_in is None else min(self._poll_seconds, due_in)
                await wait_for_event(self._due, max(pause, _LEAST_DELAY_SECONDS))

    async def _claim(self, wanted: int) -> tuple[list[Claim], float | None]:
        """S1. Returns the claims, and in how many seconds the next job is due."""
        use_until = time.monotonic() + self._usable_seconds
        async with fenced(self._sessions, self._lease) as session:
            token = uuid4()
            claims = await worklist.claim_due(session, token, limit=wanted, lease_seconds=self._lease_seconds)
            due_in = None if claims else await worklist.seconds_until_due(session)
        if claims:
            failpoint(SUBMIT_CLAIMED)
        for claim in claims:
            self.submitting.add(claim.id)
            self._claims.put_nowait((claim, use_until))
        return claims, due_in

    async def _send_for_ever(self) -> None:
        while True:
            claim, use_until = await self._claims.get()
            if self._claims.qsize() < self._spare:
                self._hungry.set()
            self._sent.put_nowait(await self._send(claim, use_until))

    async def _send(self, claim: Claim, use_until: float) -> Sent:
        """Send a claim in its turn; give it back while the server is away, so that its job is held and not locked."""
        if not await self._pacer.enter(_PATIENCE_SECONDS):
            return given_back(claim, self._pacer.pause_seconds)
        try:
            return await self._sender.send(claim, use_until)
        finally:
            await self._pacer.leave()

    async def _record_for_ever(self) -> None:
        while True:
            batch = [await self._sent.get()]
            await asyncio.sleep(_GATHER_SECONDS)
            while len(batch) < _MOST_RECORDED and not self._sent.empty():
                batch.append(self._sent.get_nowait())
            await self._record_until_done(batch)
            for sent in batch:
                self.submitting.discard(sent.claim.id)
                self._look(sent.claim.id)

    async def _record_until_done(self, batch: list[Sent]) -> None:
        while True:
            try:
                await self._record(batch)
            except Exception as error:
                if not is_away(error):
                    raise
                RECONCILE_ERRORS.labels("database").inc()
                await asyncio.sleep(_AWAY_PAUSE_SECONDS)
            else:
                return

    async def _record(self, batch: list[Sent]) -> None:
        """S4, and the other ends that a claim may have, in one transaction."""
        created = [Created(sent.claim.id, sent.claim.token, sent.k8s_uid) for sent in batch if sent.k8s_uid]
        async with fenced(self._sessions, self._lease) as session:
            await worklist.mark_submitted(session, created)
            for sent in batch:
                if sent.failed:
                    await worklist.fail(session, sent.claim, sent.reason or "RejectedByCluster", sent.message or "")
                elif sent.put_back:
                    await worklist.put_back(
                        session,
                        sent.claim,
                        due_in_seconds=sent.put_back_in_seconds,
                        reason=sent.reason,
                        message=sent.message,
                    )
        if created:
            failpoint(SUBMIT_RECORDED)
