"""Tell jobs that wait for others when these have ended: let them go, or end them too.

Nothing is remembered between two looks: a job that ends carries a mark while others wait for it, and whoever finds the
mark does the rest, a batch in each transaction. So a crash repeats no more than one batch, which changes nothing twice.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from app.controller.leader import Lease, fenced
from app.controller.together import wait_for_event
from app.db import Sessions, is_away
from app.jobs import settlements
from app.jobs.dependencies import FREE, Verdict, judge
from app.jobs.states import JobState
from app.jobs.transitions import move
from app.jobs.waiting import WAITING_FOR_QUOTA, WAITING_FOR_RELEASE
from app.settings import Settings
from app.telemetry import ENDED, RECONCILE_ERRORS, get_logger

_LEAST_PAUSE_SECONDS = 0.02
_MOST_PARENTS = 100
_MOST_JOBS = 100
_LONGEST_SECONDS = 0.2
"""For how long one transaction follows a chain: while it is open, streams of events wait for it."""

_WAITING = frozenset({JobState.HELD, JobState.SUSPENDED})
_NO_ROOM = (
    WAITING_FOR_QUOTA,
    "The jobs that this one waited for have ended; now it waits for room in its team's quota.",
)
_log = get_logger(__name__)


class Settler:
    """Settles for ever.

    Args:
        sessions: to Postgres.
        lease: of the leader, fences each write.
        settings: the times between two looks.
        on_ready: called when jobs wait for no other any more.
    """

    def __init__(self, sessions: Sessions, lease: Lease, settings: Settings, *, on_ready: Callable[[], None]) -> None:
        self._sessions = sessions
        self._lease = lease
        self._settings = settings
        self._on_ready = on_ready
        self._hint = asyncio.Event()
        self._swept_at = -float("inf")

    def wake(self) -> None:
        """A job may have ended for which others wait."""
        self._hint.set()

    async def run(self) -> None:
        """Look at each hint, and every few seconds without one."""
        while True:
            try:
                await self._sweep()
                more = await self.settle_all()
            except Exception as error:
                if not is_away(error):
                    raise
                RECONCILE_ERRORS.labels("database").inc()
                more = False
            if not more:
                await wait_for_event(self._hint, self._settings.work_poll_seconds)
            await asyncio.sleep(_LEAST_PAUSE_SECONDS)

    async def _sweep(self) -> None:
        """Now and then look for ends that left no mark, such as those of a release that knew no dependencies."""
        if time.monotonic() - self._swept_at < self._settings.sweep_seconds:
            return
        async with fenced(self._sessions, self._lease) as session:
            missed = await settlements.mark_missed(session)
        self._swept_at = time.monotonic()
        if missed:
            _log.warning("dependents_missed", parents=missed)

    async def settle_all(self) -> bool:
        """Settle one batch of each team; True when there may be more to do at once."""
        async with self._sessions() as session:
            teams = await settlements.teams_with_due(session)
        settled = [await self._settle_team(team) for team in teams]
        return any(settled)

    async def _settle_team(self, team: str) -> bool:
        verdicts: dict[UUID, Verdict] = {}
        async with fenced(self._sessions, self._lease) as session:
            looked_at = await _settle_generations(session, team, verdicts)
        for verdict in verdicts.values():
            if verdict.end is not None:
                ENDED.labels(str(verdict.end)).inc()
        if FREE in verdicts.values():
            self._on_ready()
        return looked_at > 0


async def _settle_generations(session: AsyncSession, team: str, verdicts: dict[UUID, Verdict]) -> int:
    """Settle jobs whose parents have ended, then those that wait for these, and so on for a short while.

    Returns:
        how many jobs were looked at; what was decided of each is in `verdicts`.
    """
    until = time.monotonic() + _LONGEST_SECONDS
    looked_at = 0
    seen = parents = await settlements.read_due(session, team, _MOST_PARENTS)
    if parents:
        await settlements.lock_usage(session, team)
    while parents:
        decided, count = await _settle(session, parents)
        verdicts.update(decided)
        looked_at += count
        if count >= _MOST_JOBS or time.monotonic() > until:
            break
        parents = [job_id for job_id, verdict in decided.items() if verdict.end is not None]
        seen = [*seen, *parents]
    await settlements.clear_due(session, seen)
    return looked_at


async def _settle(session: AsyncSession, parents: list[UUID]) -> tuple[dict[UUID, Verdict], int]:
    """Decide about jobs that wait for one of the parents; what was decided, and how many were looked at."""
    locked = await settlements.lock_dependents(session, parents, _MOST_JOBS)
    if not locked:
        return {}, 0
    links = await settlements.read_open_links(session, locked)
    # another one was cancelled, or an older release let it go
    waiting = [job_id for job_id, state in locked.items() if state in _WAITING]
    decided = {job_id: judge(links.get(job_id, [])) for job_id in waiting}
    await settlements.settle(
        session,
        [
            (job_id, link.place)
            for job_id, of_job in links.items()
            for link in of_job
            if not link.open or job_id not in decided or decided[job_id].end is not None
        ],
    )
    await _carry_out(session, decided)
    return decided, len(locked)


async def _carry_out(session: AsyncSession, verdicts: Mapping[UUID, Verdict]) -> None:
    waiting = {job_id: verdict for job_id, verdict in verdicts.items() if verdict.end is None and verdict.open}
    await settlements.tell_waiting(session, waiting)
    free = [job_id for job_id, verdict in verdicts.items() if verdict.end is None and not verdict.open]
    await settlements.let_go(session, free, charged=WAITING_FOR_RELEASE, uncharged=_NO_ROOM)
    for job_id, verdict in verdicts.items():
        if verdict.end is not None:
            await move(session, job_id, verdict.end, at=func.now(), reason=verdict.reason, message=verdict.message)
