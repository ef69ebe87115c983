"""Look at jobs, decide, write what changed in one fenced transaction, then act on the cluster.

O1 is `_write`; O2 and O3 come at later looks, since the finalizer is released only after a committed end was read.
"""

import asyncio
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from datetime import datetime
from secrets import token_hex
from typing import Any
from uuid import UUID

from app.cluster.errors import NOT_FOUND, ClusterError, NotFound
from app.cluster.observe import observe_job
from app.cluster.observed import ObservedPod
from app.cluster.pods import Pods
from app.cluster.volcano import Volcano
from app.controller import gather
from app.controller.acting import Actor
from app.controller.aligning import Aligner, AlignmentRefused
from app.controller.decide import decide
from app.controller.facts import Absence, Action, Decision, Situation
from app.controller.leader import LeadershipLost, Lease, fenced
from app.controller.progress import EVENT, progress_of
from app.controller.reasons import MAXIMUM_MESSAGE_LENGTH
from app.controller.together import run_together
from app.controller.view import ClusterView
from app.controller.workqueue import WorkQueue
from app.db import Sessions, is_away
from app.failpoints import CANCEL_RECORDED, OBSERVE_BEFORE_COMMIT, OBSERVE_COMMITTED, RUN_RECORDED, failpoint
from app.jobs import history, identity
from app.jobs.states import TERMINAL, JobState
from app.jobs.transitions import record_event
from app.telemetry import ENDED, QUEUE_DEPTH, RECONCILE_ERRORS, WATCH_STRANGE, get_logger

BATCH = 64
"""Keys that are read in one go."""

_WORKERS = 6
_IN_FLIGHT_WAIT_SECONDS = 0.5
_AWAY_PAUSE_SECONDS = 1.0
_BUSY_PAUSE_SECONDS = 0.5
_BETWEEN_RUNS = {JobState.HELD, JobState.SUSPENDED}
_log = get_logger(__name__)


@dataclass(slots=True)
class Look:
    """One job that something has to be done about."""

    row: Any
    situation: Situation
    recorded: list[Any] = field(default_factory=list)
    departed: list[ObservedPod] = field(default_factory=list)


class Reconciler:
    """Brings rows and cluster together, one key after the other, several keys at a time.

    Args:
        sessions: to Postgres.
        lease: of the leader, fences each write.
        view: the caches.
        volcano: the verbs about Jobs.
        work: where keys come from.
        pods: the verbs about pods.
        aligner: brings Volcano Jobs in line with changes.
        submitting: ids of jobs whose create call is under way in this process; they are looked at afterwards.
        busy: whether many create calls are under way; looks are fewer then.
        retention_seconds: how long a finished Job stays in the cluster.
        on_progress: called when a job began to run or ended, so that the release window may have room.
    """

    def __init__(
        self,
        sessions: Sessions,
        lease: Lease,
        view: ClusterView,
        volcano: Volcano,
        work: WorkQueue[UUID],
        *,
        pods: Pods,
        aligner: Aligner,
        submitting: Container[UUID],
        busy: Callable[[], bool],
        retention_seconds: float,
        on_progress: Callable[[], None],
    ) -> None:
        self._sessions = sessions
        self._lease = lease
        self._view = view
        self._volcano = volcano
        self._work = work
        self._submitting = submitting
        self._busy = busy
        self._retention_seconds = retention_seconds
        self._on_progress = on_progress
        self._actor = Actor(volcano, pods)
        self._aligner = aligner
        self._read_rows: asyncio.Queue[tuple[Any, list[Any], datetime]] = asyncio.Queue(BATCH)

    async def run(self) -> None:
        """Work for ever."""
        await run_together(self._read_for_ever(), *(self._work_for_ever() for _ in range(_WORKERS)))

    async def _read_for_ever(self) -> None:
        while True:
            keys = await self._work.take(BATCH)
            QUEUE_DEPTH.set(len(self._work))
            try:
                await self._read(keys)
            except Exception as error:
                if not is_away(error):
                    raise
                for key in keys:
                    self._work.retry(key)
                await asyncio.sleep(_AWAY_PAUSE_SECONDS)
            if self._busy():
                await asyncio.sleep(_BUSY_PAUSE_SECONDS)  # handing jobs over comes first; looks wait and coalesce

    async def _read(self, keys: list[UUID]) -> None:
        async with self._sessions() as session:
            rows, read_at = await history.read_jobs(session, keys)
            pods = await history.read_pods(session, rows)
        for key in keys:
            if key in self._submitting:
                self._work.done(key)
                self._work.add(key, _IN_FLIGHT_WAIT_SECONDS)
            elif key not in rows:
                self._view.forget_departed(key)
                self._work.done(key)  # a Job without a row is the sweep's to report, and nobody's to delete
            else:
                await self._read_rows.put((rows[key], pods.get(key, []), read_at))

    def _look(self, row: Any, recorded: list[Any], read_at: datetime) -> Look:
        view, job = self._view, gather.job_facts(row)
        shown = view.job_of(job)
        uid = shown.uid if shown is not None else job.k8s_uid
        departed = view.departed_of(job.id, uid)
        complete = view.pods.synced.is_set()
        commands, commanded_at = self._actor.commands(job.id)
        pods = gather.pod_facts(job, view.pods_of(job.id, uid), departed, recorded, read_at, complete=complete)
        situation = Situation(
            job=job,
            now=read_at,
            volcano_job=shown,
            absence=Absence.UNSEEN if view.jobs.synced.is_set() else Absence.UNKNOWN,
            pods=self._actor.as_let_go(job.id, pods),
            pods_complete=complete,
            pod_group=None if uid is None else view.pod_group_of(uid),
            queue_state=view.queue_state(job.queue),
            commands=commands,
            commanded_at=commanded_at,
            retention_seconds=self._retention_seconds,
        )
        return Look(row, situation, recorded, departed)

    async def _work_for_ever(self) -> None:
        while True:
            row, recorded, read_at = await self._read_rows.get()
            if await self._try(row, recorded, read_at):
                self._work.done(row.id)
            else:
                self._work.retry(row.id)

    async def _try(self, row: Any, recorded: list[Any], read_at: datetime) -> bool:
        """Work on one job and say whether that went well; its trouble is nobody else's, not even a row of nonsense."""
        try:
            return await self._reconcile(self._look(row, recorded, read_at))
        except LeadershipLost:
            raise
        except ClusterError as error:
            RECONCILE_ERRORS.labels("cluster").inc()
            _log.debug("cluster_refused", job_id=str(row.id), error=type(error).__name__, message=error.message)
            return False
        except Exception as error:  # noqa: BLE001 - one job's trouble must not stop the others
            RECONCILE_ERRORS.labels("database" if is_away(error) else "internal").inc()
            if not is_away(error):
                _log.exception("reconcile_failed", job_id=str(row.id))
            return False

    async def _reconcile(self, look: Look) -> bool:
        """Decide, write, act; False when the cluster refused to do what it was asked."""
        decision = decide(look.situation)
        if Action.CONFIRM_ABSENCE in decision.actions:
            look.situation = await self._confirmed(look.situation)
            decision = decide(look.situation)
        if decision.strange_phase:
            WATCH_STRANGE.labels("Job").inc()
        key = look.row.id
        if not await self._write(look, decision):
            self._work.add(key)  # the row changed since it was read
            return True
        self._view.forget_departed(key, look.departed)
        shown = look.situation.volcano_job
        for action in decision.actions:
            if shown is not None and (words := await self._actor.act(action, shown, decision, key, look.situation.now)):
                await self._write(look, replace(decision, message=words[:MAXIMUM_MESSAGE_LENGTH]))
                return False
        if decision.look_again_seconds is not None:
            self._work.add(key, decision.look_again_seconds)
        return await self._align(look, decision)

    async def _align(self, look: Look, decision: Decision) -> bool:
        """Bring the Volcano Job in line with what its owner changed; False when the cluster refused that."""
        try:
            again_seconds = await self._aligner.align(look.row, look.situation.volcano_job)
        except AlignmentRefused as refusal:
            await self._write(look, replace(decision, message=str(refusal)[:MAXIMUM_MESSAGE_LENGTH]))
            return False
        if again_seconds is not None:
            self._work.add(look.row.id, again_seconds)
        return True

    async def _confirmed(self, situation: Situation) -> Situation:
        """Ask the API server itself whether a Job that the cache lacks is really not there."""
        job = situation.job
        try:
            seen = observe_job(await self._volcano.get_job(job.k8s_namespace, job.k8s_name))
        except NotFound as error:
            if error.reason != NOT_FOUND:
                raise  # a proxy's page, or a kind that is not served just now: nothing is said of the Job itself
            seen = None
        if seen is not None and self._view.belongs(seen, job):
            return replace(situation, volcano_job=seen)
        return replace(situation, absence=Absence.CONFIRMED)

    async def _write(self, look: Look, decision: Decision) -> bool:
        """Write what the row lacks; False when the row is not any more as it was read."""
        row, at = look.row, look.situation.now
        pods = gather.changed_pods(row.id, look.situation.pods, look.recorded, at)
        if look.situation.job.ended:
            await self._write_cleaning(row.id, decision, pods)
            if look.situation.volcano_job is None:
                self._actor.forget(row.id)
                self._view.forget_departed(row.id)
            return True
        facts = gather.changed_facts(row, decision, at)
        if decision.next_run is not None and row.k8s_uid is not None:
            # a Job that was never seen may still come; it has to find its name in the row
            name = identity.next_k8s_name(row.name, gather.longest_suffix(look.situation.job), token_hex(3))
            facts["k8s_name"] = name or row.k8s_name
        news = progress_of(look.situation.pods, row.progress, decision.attempt, at)
        if news.stored != row.progress:
            facts["progress"] = news.stored
        if not facts and not pods and decision.state == row.state:
            return True
        async with fenced(self._sessions, self._lease) as session:
            written = await history.record_state(session, row, decision.state, at=at, facts=facts)
            if written:
                await history.record_pods(session, pods)
            if written and news.sentence is not None:
                await record_event(session, row.id, row.team, EVENT, decision.state, at=at, message=news.sentence)
            failpoint(OBSERVE_BEFORE_COMMIT)
        failpoint(OBSERVE_COMMITTED)
        if written and decision.state != row.state:
            self._moved(row.id, decision.state)
        return written

    async def _write_cleaning(self, job_id: UUID, decision: Decision, pods: list[dict[str, Any]]) -> None:
        if not (decision.recorded or decision.cleaned or pods):
            return
        async with fenced(self._sessions, self._lease) as session:
            await history.record_pods(session, pods)
            if decision.recorded or decision.cleaned:
                await history.record_cleaning(session, job_id, recorded=decision.recorded, cleaned=decision.cleaned)

    def _moved(self, job_id: UUID, state: JobState) -> None:
        if state is JobState.CANCELLED:
            failpoint(CANCEL_RECORDED)
        if state in _BETWEEN_RUNS:
            failpoint(RUN_RECORDED)
            self._actor.forget(job_id)
            self._work.add(job_id)  # its owner may have resumed it meanwhile
        if state in TERMINAL:
            ENDED.labels(str(state)).inc()
            self._actor.forget(job_id)
            self._work.add(job_id)  # now that the end is committed, the finalizer may go
        if state is JobState.RUNNING or state in _BETWEEN_RUNS or state in TERMINAL:
            self._on_progress()
