"""Bring a Volcano Job in line with what its owner changed, until it shows the change."""

import time
from typing import Any
from uuid import UUID

from app.cluster.errors import Rejected, RightMissing
from app.cluster.observe import observe_job
from app.cluster.observed import ObservedJob
from app.cluster.volcano import JobReference, Volcano
from app.controller.alignment import patch_needed, wish_of
from app.controller.leader import Lease, fenced
from app.db import Sessions
from app.jobs import history
from app.jobs.states import JobState
from app.settings import Settings
from app.telemetry import RECONCILE_ERRORS

_ALIGNED = frozenset({JobState.SUBMITTING, JobState.PENDING, JobState.RUNNING})
_FIRST_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 60.0
_MOST_DOUBLINGS = 6


class AlignmentRefused(Exception):
    """The cluster refused a change and would do so again; its text is for the job's owner."""


class Aligner:
    """Sends patches, ever more rarely to a Job that loses them again, and notes when a Job shows what it should.

    Args:
        sessions: to Postgres.
        lease: of the leader, fences each write.
        volcano: the verbs.
        settings: the operator's priorities.
    """

    def __init__(self, sessions: Sessions, lease: Lease, volcano: Volcano, settings: Settings) -> None:
        self._sessions = sessions
        self._lease = lease
        self._volcano = volcano
        self._priorities = settings.priorities
        self._sent: dict[UUID, tuple[int, float]] = {}

    async def align(self, row: Any, shown: ObservedJob | None) -> float | None:
        """Do what is due for one job, if anything is: one that is not to run any more is left as it is.

        Returns:
            when to look again, in seconds, although nothing changes; None when it is in line.

        Raises:
            AlignmentRefused: the cluster would refuse again.
            ClusterError: the cluster is away or busy; ask again later.
        """
        if not row.alignment_due or shown is None or shown.deleting or row.state not in _ALIGNED:
            return None
        wish = wish_of(row, self._priorities)
        patch = patch_needed(wish, shown)
        if patch is not None:
            wait = self._wait(row.id)
            if wait > 0:
                return wait
            stored = observe_job(await self._patch(row.id, shown, patch))
            if stored is None or patch_needed(wish, stored) is not None:
                return self._wait(row.id)
        async with fenced(self._sessions, self._lease) as session:
            await history.record_alignment(session, row)
        self._sent.pop(row.id, None)
        return None

    async def _patch(self, job_id: UUID, shown: ObservedJob, patch: dict[str, Any]) -> Any:
        times, _ = self._sent.get(job_id, (0, 0.0))
        self._sent[job_id] = (times + 1, time.monotonic())
        try:
            return await self._volcano.patch_job(JobReference(shown.namespace, shown.name, shown.uid), patch)
        except (Rejected, RightMissing) as error:
            RECONCILE_ERRORS.labels("align").inc()
            raise AlignmentRefused(f"The cluster refuses to change the job: {error.message}") from error

    def _wait(self, job_id: UUID) -> float:
        """Seconds until a patch may be sent again: somebody may undo it each time."""
        times, sent_at = self._sent.get(job_id, (0, 0.0))
        if times == 0:
            return 0.0
        pause: float = min(_FIRST_WAIT_SECONDS * 2 ** min(times - 1, _MOST_DOUBLINGS), _LONGEST_WAIT_SECONDS)
        return max(0.0, sent_at + pause - time.monotonic())
