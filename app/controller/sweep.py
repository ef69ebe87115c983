"""The sweep: every row against the caches, and every managed Job against its row. It is the truth; events are hints."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from prometheus_client import Gauge
from sqlalchemy.ext.asyncio import AsyncSession

from app.controller.view import ClusterView, uuid_of
from app.controller.workqueue import WorkQueue
from app.db import Sessions, is_away
from app.jobs import history
from app.telemetry import RECONCILE_ERRORS, REGISTRY, get_logger

ORPHANS = Gauge("pumice_orphans", "Volcano Jobs of this installation that have no row", registry=REGISTRY)

_PAGE = 1_000
_SPREAD = 0.25
_LONGEST_SPREAD_SECONDS = 10.0
_log = get_logger(__name__)


class Sweeper:
    """Asks for a look at everything, every so often; only keys come of it, so it may miss or repeat without harm."""

    def __init__(self, sessions: Sessions, view: ClusterView, work: WorkQueue[UUID], *, every_seconds: float) -> None:
        self._sessions = sessions
        self._view = view
        self._work = work
        self._every_seconds = every_seconds
        self._reported: set[UUID] = set()

    async def run(self) -> None:
        """Sweep once the caches are complete, at once the first time."""
        await self._view.synced()
        spread = 0.0
        while True:
            try:
                await self._sweep(spread)
            except Exception as error:
                if not is_away(error):
                    raise
                RECONCILE_ERRORS.labels("database").inc()
            # later sweeps do not ask for everything in the same moment
            spread = min(self._every_seconds * _SPREAD, _LONGEST_SPREAD_SECONDS)
            await asyncio.sleep(self._every_seconds)

    async def _sweep(self, spread: float) -> None:
        async with self._sessions() as session:
            await self._ask_for_rows(session, spread)
            shown = {job_id for seen in self._view.our_jobs() if (job_id := uuid_of(seen.job_id or "")) is not None}
            self._work.add_all(shown, spread)
            await self._report_orphans(session, shown)

    async def _ask_for_rows(self, session: AsyncSession, spread: float) -> None:
        after: UUID | None = None
        while page := await history.live_ids(session, after, _PAGE):
            self._work.add_all(page, spread)
            after = page[-1]
        ended_after: datetime | None = None
        while ended := await history.uncleaned_ids(session, ended_after, _PAGE):
            self._work.add_all((job_id for job_id, _ in ended), spread)
            ended_after = ended[-1][1]

    async def _report_orphans(self, session: AsyncSession, shown: Iterable[UUID]) -> None:
        """Say which Jobs bear our name and are in no row. They are never deleted: the database may be an old copy."""
        ids, orphans = list(shown), set[UUID]()
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
            orphans |= set(page) - await history.known_ids(session, page)
        ORPHANS.set(len(orphans))
        for job_id in orphans - self._reported:
            _log.warning("job_without_row", job_id=str(job_id))
        self._reported = orphans
