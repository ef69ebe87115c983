"""One term as the leader: every part put together, and run until one of them fails or the lease is lost."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.cluster.client import ClusterClient
from app.cluster.pod_logs import PodLogs
from app.cluster.pods import Pods
from app.cluster.volcano import Volcano
from app.controller import leader
from app.controller.aligning import Aligner
from app.controller.expiring import expire_for_ever
from app.controller.hints import listen
from app.controller.keeping_logs import LogKeeper
from app.controller.leader import Lease
from app.controller.namespaces import Namespaces
from app.controller.pacing import Pacer
from app.controller.queues_sync import QueuesSync
from app.controller.reconcile import Reconciler
from app.controller.releasing import Releaser
from app.controller.sending import Sender
from app.controller.settling import Settler
from app.controller.submit import Submitter
from app.controller.sweep import Sweeper
from app.controller.together import run_together
from app.controller.view import ClusterView, uuid_of
from app.controller.webhooks import send_webhooks
from app.controller.workqueue import WorkQueue
from app.db import Sessions
from app.jobs.progress import CHANNEL as PROGRESS_CHANNEL
from app.jobs.transitions import ACCEPTED_CHANNEL, CHANNEL
from app.queues.store import CHANNEL as QUEUES_CHANNEL
from app.settings import Settings

COALESCE_SECONDS = 0.05
"""Wait before a look at a changed job: within it ten changes cost one transaction."""

BUSY_COALESCE_SECONDS = 1.0
"""The same while many jobs are on their way to the cluster, which comes first."""

SPEAKING_SECONDS = 1.0
"""Wait before a look at a job of which only a worker said how far it is: a thousand workers cost one look a second."""

_STATUS_SECONDS = 0.2
_AHEAD_OF_ALL_SECONDS = -3600.0


class Term:
    """Everything that runs while this process leads. Made anew for each term: nothing is carried over."""

    def __init__(
        self, settings: Settings, sessions: Sessions, client: ClusterClient, lease: Lease, installation: UUID
    ) -> None:
        self._settings = settings
        self._sessions = sessions
        self._lease = lease
        self._news = asyncio.Event()
        self._rights = client.rights
        volcano = Volcano(client)
        self._work: WorkQueue[UUID] = WorkQueue()
        self._view = ClusterView(
            volcano,
            installation,
            self._look,
            self._look_at_queues,
            on_contents=self._count_queues,
            on_progress=self._look_later,
        )
        pacer = Pacer(settings.submit_concurrency)
        self._submitter = Submitter(
            sessions,
            lease,
            Sender(volcano, Namespaces(client), pacer, settings, installation),
            pacer,
            concurrency=settings.submit_concurrency,
            lease_seconds=settings.lease_seconds,
            poll_seconds=settings.work_poll_seconds,
            look=self._look,
        )
        self._releaser = Releaser(
            sessions, lease, self._view, settings, on_released=self._submitter.wake, look=self._look
        )
        self._settler = Settler(sessions, lease, settings, on_ready=self._releaser.wake)
        self._reconciler = Reconciler(
            sessions,
            lease,
            self._view,
            volcano,
            self._work,
            pods=Pods(client),
            aligner=Aligner(sessions, lease, volcano, settings),
            submitting=self._submitter.submitting,
            busy=lambda: self._submitter.busy,
            retention_seconds=settings.retention_seconds,
            on_progress=self._releaser.wake,
        )
        self._queues = QueuesSync(sessions, lease, self._view, volcano, poll_seconds=settings.work_poll_seconds)
        self._log_keeper = LogKeeper(sessions, lease, PodLogs(client.apart()), settings)
        self._view.on_pod = self._log_keeper.notice
        self._sweeper = Sweeper(sessions, self._view, self._work, every_seconds=settings.sweep_seconds)

    async def run(self, engine: AsyncEngine) -> None:
        """Lead until something fails.

        Raises:
            LeadershipLost: the lease ran out or is another's.
        """
        seconds = self._settings.leader_lease_seconds
        await run_together(
            leader.keep(self._sessions, self._lease, seconds, self._status, news=self._news),
            self._watch_status(),
            listen(engine, self._channels()),
            *self._view.runs(),
            self._queues.run(),
            self._settler.run(),
            self._releaser.run(),
            self._submitter.run(),
            self._reconciler.run(),
            self._sweeper.run(),
            expire_for_ever(self._sessions, self._lease, every_seconds=self._settings.work_poll_seconds),
            send_webhooks(self._settings, self._sessions),
            self._log_keeper.run(),
        )

    def _channels(self) -> dict[str, Callable[[str], None]]:
        return {
            CHANNEL: self._hear_job,
            # a flood of accepted jobs must not come before the looks at jobs that run
            ACCEPTED_CHANNEL: lambda _: self._releaser.wake(),
            QUEUES_CHANNEL: lambda _: self._look_at_queues(),
            PROGRESS_CHANNEL: self._hear_worker,
        }

    def _hear_job(self, payload: str) -> None:
        job_id = uuid_of(payload)
        if job_id is not None:
            self._work.add(job_id, _AHEAD_OF_ALL_SECONDS)  # somebody waits for it: it may be a cancel
        self._settler.wake()
        self._releaser.wake()

    def _hear_worker(self, payload: str) -> None:
        job_id = uuid_of(payload)
        if job_id is not None:
            self._look_later(job_id)

    def _look(self, job_id: UUID) -> None:
        self._work.add(job_id, BUSY_COALESCE_SECONDS if self._submitter.busy else COALESCE_SECONDS)

    def _look_later(self, job_id: UUID) -> None:
        self._work.add(job_id, SPEAKING_SECONDS)

    def _count_queues(self) -> None:
        self._queues.wake()

    def _look_at_queues(self) -> None:
        self._queues.wake()
        self._releaser.wake()

    def _status(self) -> dict[str, Any]:
        return {
            "watches": self._view.watches(),
            "cluster": "reachable" if self._view.reachable() or self._view.refused() else "unreachable",
            "missing_rights": self._rights.missing(),
        }

    async def _watch_status(self) -> None:
        """Have the row written at once when the cluster or a right comes or goes, or all is seen."""
        before: object = None
        while True:
            status = self._status()
            synced = [watch["synced"] for watch in status["watches"].values()]
            now = (status["cluster"], status["missing_rights"], synced)
            if now != before:
                before = now
                self._news.set()
            await asyncio.sleep(_STATUS_SECONDS)
