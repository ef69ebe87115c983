"""Deleting finished Jobs after `ttlSecondsAfterFinished` (volcano-facts 2.8)."""

import asyncio
from datetime import UTC, datetime

import structlog

from app.simulator.clock import Clock
from app.simulator.kinds import JOB
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.volcano.informer import cancel, spawn
from app.simulator.volcano.job_states import FINISHED
from app.simulator.volcano.job_status import instant, phase_of

RETRY_SECONDS = 1.0

log = structlog.get_logger(__name__)


def finished_at(job: Object) -> str | None:
    """The last transition of a finished Job that has a TTL and is not being deleted; else None."""
    if job["spec"].get("ttlSecondsAfterFinished") is None or job["metadata"].get("deletionTimestamp"):
        return None
    if phase_of(job) not in FINISHED:
        return None
    stamp: str | None = job["status"]["state"].get("lastTransitionTime")
    return stamp


class JobGarbage:
    """One timer for each finished Job."""

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock
        self._timed: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def consider(self, job: Object) -> None:
        """Start a timer when a Job has finished since it was last seen."""
        since, uid = finished_at(job), str(job["metadata"]["uid"])
        if since is None or self._timed.get(uid) == since:
            return
        self._timed[uid] = since
        spawn(self._tasks, asyncio.create_task(self._wait(job, since)))

    def forget(self, job: Object) -> None:
        """A Job is gone."""
        self._timed.pop(str(job["metadata"]["uid"]), None)

    async def close(self) -> None:
        """Stop all timers."""
        await cancel(self._tasks)

    async def _wait(self, job: Object, since: str) -> None:
        # Stamps have whole seconds; what was finished within the last two was finished now.
        passed = (datetime.now(UTC) - instant(since)).total_seconds()
        ttl = float(job["spec"]["ttlSecondsAfterFinished"])
        await self._clock.sleep(ttl - (passed if passed > 2.0 else 0.0))  # noqa: PLR2004 - see above
        while not await self._delete(job, since):
            await self._clock.sleep(RETRY_SECONDS)

    async def _delete(self, job: Object, since: str) -> bool:
        namespace, name, uid = (job["metadata"][field] for field in ("namespace", "name", "uid"))
        try:
            fresh = await self._objects.get(JOB, namespace, name)
            if fresh["metadata"]["uid"] == uid and finished_at(fresh) == since:
                await self._objects.delete(JOB, namespace, name, uid=uid, propagation="Foreground")
        except ApiError as error:
            if error.code not in (404, 409):
                log.warning("A finished Job could not be deleted.", key=f"{namespace}/{name}", code=error.code)
                return False
        return True
