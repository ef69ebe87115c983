"""Carry queues from their rows to Volcano, and what is seen of them back to the rows. Nothing is ever deleted."""

import asyncio
import random
import time
from collections import Counter
from typing import Any

from app.cluster.errors import ClusterError, ClusterThrottled, Rejected, RightMissing, Unauthorized
from app.cluster.observed import ObservedQueue
from app.cluster.volcano import Volcano
from app.controller import queue_facts
from app.controller.leader import Lease, fenced
from app.controller.together import wait_for_event
from app.controller.view import ClusterView
from app.db import Sessions, is_away
from app.queues import observed
from app.queues.models import QueueRow
from app.telemetry import RECONCILE_ERRORS, get_logger

WRITE_SECONDS = 1.0
"""A queue is written at most this often."""

REFRESH_SECONDS = 10.0
"""The time of observation is written at least this often, so that `as_of` is honest when nothing changes."""

_FIRST_RETRY_SECONDS = 1.0
_LONGEST_RETRY_SECONDS = 60.0
_MAXIMUM_PROBLEM_LENGTH = 1024
_log = get_logger(__name__)


class QueuesSync:
    """Works on all queues at a time; there are few of them."""

    def __init__(
        self, sessions: Sessions, lease: Lease, view: ClusterView, volcano: Volcano, *, poll_seconds: float
    ) -> None:
        self._sessions = sessions
        self._lease = lease
        self._view = view
        self._volcano = volcano
        self._poll_seconds = poll_seconds
        self._changed = asyncio.Event()
        self._written: dict[str, tuple[Any, float]] = {}
        self._refused: dict[str, tuple[int, float, float]] = {}
        self._quiet_until = 0.0
        self._troubles = 0

    def wake(self) -> None:
        """A queue, its row, or what runs in it changed."""
        self._changed.set()

    async def run(self) -> None:
        """Compare, carry over and write back, for ever."""
        await self._view.synced()
        while True:
            try:
                await self._sync()
            except Exception as error:
                if not is_away(error):
                    raise
                RECONCILE_ERRORS.labels("queues").inc()
            await asyncio.sleep(min(WRITE_SECONDS, self._poll_seconds))
            await wait_for_event(self._changed, self._poll_seconds)

    async def _sync(self) -> None:
        async with self._sessions() as session:
            rows = await observed.read_queues(session)
        await self._write_observed(rows)
        if time.monotonic() < self._quiet_until:
            return
        try:
            for row in rows:
                await self._carry(row, self._view.queues.get(row.name))
        except ClusterError as error:
            self._be_quiet(error)
        else:
            self._troubles = 0

    def _be_quiet(self, error: ClusterError) -> None:
        """Leave a server alone that is away or wants it so: for as long as it says, else ever longer."""
        self._troubles += 1
        step = min(_FIRST_RETRY_SECONDS * 2 ** min(self._troubles - 1, 10), _LONGEST_RETRY_SECONDS)
        pause = max(step * random.uniform(0.5, 1.0), error.retry_after_seconds or 0.0)
        self._quiet_until = time.monotonic() + pause

    async def _carry(self, row: QueueRow, seen: ObservedQueue | None) -> None:
        """Create or change one Queue; a refusal is told to the operator and tried again ever more rarely.

        Raises:
            ClusterError: the server is away, busy or does not know us, so that no other queue need be tried.
        """
        patch = None if seen is None else queue_facts.patch(row, seen)
        if seen is not None and patch is None:
            await self._write_problem(row, None)
            return
        generation, retry_at, wait = self._refused.get(row.name, (0, 0.0, _FIRST_RETRY_SECONDS))
        if generation == row.generation and time.monotonic() < retry_at:
            return
        try:
            if patch is None:
                await self._volcano.create_queue(queue_facts.manifest(row))
            else:
                await self._volcano.patch_queue(row.name, patch)
        except (Rejected, RightMissing) as error:
            self._refused[row.name] = (row.generation, time.monotonic() + wait, min(wait * 2, _LONGEST_RETRY_SECONDS))
            await self._write_problem(row, error.message[:_MAXIMUM_PROBLEM_LENGTH])
            return
        except ClusterError as error:
            RECONCILE_ERRORS.labels("queues").inc()
            _log.debug("queue_not_carried", queue=row.name, error=type(error).__name__)
            if error.status is None or isinstance(error, ClusterThrottled | Unauthorized):
                raise
            return
        self._refused.pop(row.name, None)
        await self._write_problem(row, None)

    async def _write_problem(self, row: QueueRow, problem: str | None) -> None:
        if row.problem == problem:
            return
        async with fenced(self._sessions, self._lease) as session:
            await observed.write_problem(session, row.name, row.generation, problem)

    async def _write_observed(self, rows: list[QueueRow]) -> None:
        view, now = self._view, time.monotonic()
        groups = queue_facts.pod_groups_by_queue(view.pod_groups.cache.values())
        held = queue_facts.held_by_queue(view.pods.cache.values(), queue_facts.queues_of(view.jobs.cache.values()))
        news: dict[str, Any] = {}
        for row in rows:
            seen = view.queues.get(row.name)
            facts = (
                None
                if seen is None
                else queue_facts.observed(seen, groups.get(row.name, Counter()), held.get(row.name, Counter()))
            )
            before, written_at = self._written.get(row.name, (None, float("-inf")))
            if facts != before or (view.reachable() and now - written_at >= REFRESH_SECONDS):
                news[row.name] = facts
        if not news:
            return
        async with fenced(self._sessions, self._lease) as session:
            await observed.write_observed(session, news)
        self._written |= {name: (facts, now) for name, facts in news.items()}
