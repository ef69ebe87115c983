"""End held jobs whose time to wait is over. What is in the cluster already, `decide` sees to."""

import asyncio

from app.controller.leader import Lease, fenced
from app.db import Sessions, is_away
from app.jobs import releases
from app.jobs.states import JobState
from app.telemetry import ENDED, RECONCILE_ERRORS

_PAGE = 200


async def expire_for_ever(sessions: Sessions, lease: Lease, *, every_seconds: float) -> None:
    """Look at the deadlines of held jobs, for ever; it needs no cluster.

    Raises:
        LeadershipLost: the lease ran out or is another's.
    """
    while True:
        try:
            more = await _expire(sessions, lease)
        except Exception as error:
            if not is_away(error):
                raise
            RECONCILE_ERRORS.labels("database").inc()
            more = False
        if not more:
            await asyncio.sleep(every_seconds)


async def _expire(sessions: Sessions, lease: Lease) -> bool:
    """End a page of them, and say whether there may be more."""
    async with sessions() as session:
        rows = await releases.expired(session, _PAGE)
    if not rows:
        return False
    for row in rows:
        # a transaction each: one that held a team's usage while it waits for the next job could wait in a circle with
        # whoever cancels that job
        async with fenced(sessions, lease) as session:
            ended = await releases.expire(session, row.id, row.seconds)
        ENDED.labels(str(JobState.FAILED)).inc(int(ended))
    return len(rows) == _PAGE
