"""Keep the release window filled: read, `plan`, mark; and let quota-held jobs in when there is room."""

import asyncio
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any
from uuid import UUID

from app import quantity
from app.cluster.observed import ObservedQueue
from app.controller import release
from app.controller.leader import Lease, fenced
from app.controller.release import HeldJob, Plan, QueueWindow
from app.controller.together import wait_for_event
from app.controller.view import ClusterView
from app.db import Sessions, is_away
from app.failpoints import RELEASE_MARKED, failpoint
from app.jobs import history, releases
from app.jobs.releases import Pending
from app.jobs.waiting import WAITING_FOR_RELEASE
from app.quantity import QuantityError
from app.settings import Settings
from app.teams import quota, store
from app.teams.quota import JOB_COUNT, Quota, QuotaVerdict
from app.telemetry import RECONCILE_ERRORS, RELEASED, WORK_LIST, get_logger

_LEAST_PAUSE_SECONDS = 0.05
_LOOK_AHEAD = 4
_MOST_HELD_READ = 2_000
_MOST_CHARGED = 200
_WAITING = {
    WAITING_FOR_RELEASE: "The job waits its turn: enough work of its queue is pending in the cluster.",
    release.QUEUE_NOT_OPEN: "The job waits until its queue is open in Volcano.",
    release.QUEUE_MISSING: "The job waits until its queue is in Volcano.",
}
_log = get_logger(__name__)


class Releaser:
    """Releases held jobs for ever.

    Args:
        sessions: to Postgres.
        lease: of the leader, fences each write.
        view: the caches: queues and nodes.
        settings: the window's size and the time between two looks.
        on_released: called when jobs are on the work list.
        look: called with the id of each job that is being cancelled or suspended.
    """

    def __init__(
        self,
        sessions: Sessions,
        lease: Lease,
        view: ClusterView,
        settings: Settings,
        *,
        on_released: Callable[[], None],
        look: Callable[[UUID], None],
    ) -> None:
        self._sessions = sessions
        self._lease = lease
        self._view = view
        self._settings = settings
        self._on_released = on_released
        self._look = look
        self._hint = asyncio.Event()

    def wake(self) -> None:
        """There may be room, or a new job."""
        self._hint.set()

    async def run(self) -> None:
        """Look at each hint, and every few seconds without one."""
        await self._view.queues.synced.wait()
        await self._view.nodes.synced.wait()
        while True:
            try:
                await self._charge_all()
                more = await self._release()
                await self._look_at_stopping()
            except Exception as error:
                if not is_away(error):
                    raise
                RECONCILE_ERRORS.labels("database").inc()
                more = False
            if not more:
                await wait_for_event(self._hint, self._settings.work_poll_seconds)
            await asyncio.sleep(_LEAST_PAUSE_SECONDS)  # hints come in bursts

    async def _release(self) -> bool:
        """Fill the window; True when there may be more to do at once."""
        limit = min(_LOOK_AHEAD * self._settings.release_window_jobs, _MOST_HELD_READ)
        off = self._settings.release_window == "off"
        async with self._sessions() as session:
            queues = await releases.queues_with_held_jobs(session)
            held = [_held_job(row) for row in await releases.read_held(session, queues, limit)]
            pending = {} if off or not held else await releases.read_pending(session)
        WORK_LIST.labels("held_seen").set(len(held))
        WORK_LIST.labels("pending").set(sum(each.jobs for each in pending.values()))
        if not held:
            return False
        windows = [self._window(name, pending.get(name, Pending())) for name in queues]
        most_jobs = None if off else self._settings.release_window_jobs
        return await self._mark(release.plan(windows, held, most_jobs=most_jobs), held)

    async def _mark(self, plan: Plan, held: list[HeldJob]) -> bool:
        known = {job.id: job.reason for job in held}
        news = {reason: [job_id for job_id in ids if known[job_id] != reason] for reason, ids in plan.waiting.items()}
        if not plan.released and not any(news.values()):
            return False
        async with fenced(self._sessions, self._lease) as session:
            released = await releases.mark_released(session, plan.released)
            for reason, ids in news.items():
                await releases.explain_waiting(session, ids, reason, _WAITING[reason])
        if not released:
            return False
        failpoint(RELEASE_MARKED)
        RELEASED.inc(released)
        self._on_released()
        return self._settings.release_window == "off"

    def _window(self, name: str, pending: Pending) -> QueueWindow:
        queue = self._view.queues.get(name)
        return QueueWindow(
            name=name,
            state="missing" if queue is None else queue.state,
            limits=self._limits(queue),
            used=pending.used,
            jobs=pending.jobs,
            users=pending.users,
        )

    def _limits(self, queue: ObservedQueue | None) -> dict[str, int]:
        """Pending work of a queue at the most: a multiple of its capability, else of what the nodes have."""
        nodes = self._view.nodes.cache.values()
        amounts = _total(node.allocatable for node in nodes) | _total([queue.capability] if queue else [])
        factor = Decimal(str(self._settings.release_window_factor))
        return {name: int(amount * factor) for name, amount in amounts.items() if quota.is_counted(name)}

    async def _charge_all(self) -> None:
        async with self._sessions() as session:
            teams = await releases.teams_that_hold(session)
        for team in teams:
            await self._charge(team)

    async def _charge(self, team: str) -> None:
        """Charge the most urgent jobs of a team that fit its quota now."""
        async with fenced(self._sessions, self._lease) as session:
            if await store.lock_team(session, team) is None:
                return
            stored = await store.find_quota(session, team)
            used = await store.find_usage(session, team)
            limits = stored.quota if stored else Quota()
            rows = await releases.read_uncharged(session, team, _MOST_CHARGED)
            while len(rows) == _MOST_CHARGED and all_never_fit(limits, rows):
                # jobs that a lowered quota made impossible must not hide those behind them
                rows = await releases.read_uncharged(session, team, _MOST_CHARGED, behind=rows[-1])
            for row in fitting(limits, used, rows):
                await releases.charge(session, team, row.id, row.charges, WAITING_FOR_RELEASE)

    async def _look_at_stopping(self) -> None:
        async with self._sessions() as session:
            for job_id in await history.stopping_ids(session):
                self._look(job_id)


def fitting(limits: Quota, used: dict[str, int], rows: Iterable[Any]) -> list[Any]:
    """The jobs, most urgent first, that fit a quota beside each other. Pure.

    A job that does not fit now keeps its resources for itself, so that smaller ones do not starve it; one that can
    never fit keeps nothing.
    """
    chosen: list[Any] = []
    used = dict(used)
    blocked: set[str] = set()
    for row in rows:
        decision = quota.check(limits, used, row.charges)
        if decision.verdict is QuotaVerdict.EXCEEDED:
            blocked |= {shortage.resource for shortage in decision.shortages}
        wanted = {*row.charges, JOB_COUNT}
        if decision.verdict is not QuotaVerdict.FITS or blocked & wanted:
            continue
        chosen.append(row)
        for resource in wanted:
            used[resource] = used.get(resource, 0) + row.charges.get(resource, 1)
    return chosen


def all_never_fit(limits: Quota, rows: Iterable[Any]) -> bool:
    """Whether no quota's room would let any of these jobs go. Pure."""
    return all(quota.check(limits, {}, row.charges).verdict is QuotaVerdict.NEVER for row in rows)


def _held_job(row: Any) -> HeldJob:
    return HeldJob(row.id, row.queue, row.submitted_by, row.priority_rank, row.charges, row.reason)


def _total(lists: Iterable[dict[str, str]]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for amounts in lists:
        for name, text in amounts.items():
            try:
                total[name] = total.get(name, Decimal(0)) + quantity.parse(text)
            except QuantityError:  # no API server lets one in
                continue
    return total
