"""The Job controller: watches, requests, actions and its error budget (volcano-facts 2.1, 2.7)."""

import asyncio
import zlib

import structlog

from app.simulator.clock import Clock
from app.simulator.kinds import COMMAND, JOB, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, VOLCANO_BATCH
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.volcano import job_requests
from app.simulator.volcano.commands import take
from app.simulator.volcano.events import EventRecorder
from app.simulator.volcano.informer import Change, Informer, cancel, spawn
from app.simulator.volcano.job_cache import JobCache, JobInfo, is_job_pod
from app.simulator.volcano.job_delays import DelayedActions
from app.simulator.volcano.job_garbage import JobGarbage
from app.simulator.volcano.job_kill import JobKiller, Target
from app.simulator.volcano.job_states import Effect, transition
from app.simulator.volcano.job_status import phase_of
from app.simulator.volcano.job_sync import JobSyncer, Listers
from app.simulator.volcano.job_writer import ControllerError, JobWriter
from app.simulator.volcano.names import CONTROLLER, key_of
from app.simulator.volcano.policies import SYNC, Request, choose_action
from app.simulator.volcano.settings import VolcanoSettings
from app.simulator.volcano.work_queue import WorkQueue

WORKERS = 3
MAXIMUM_REQUEUES = 15

log = structlog.get_logger(__name__)


class JobController:
    """Volcano's Job controller on one API server. Requests of one Job are carried out one after another."""

    def __init__(self, objects: Objects, clock: Clock, settings: VolcanoSettings) -> None:
        self._objects = objects
        self._clock = clock
        self._cache = JobCache()
        self._recorder = EventRecorder(objects, clock, CONTROLLER)
        self._queues = [WorkQueue[Request]() for _ in range(WORKERS)]
        self._background: set[asyncio.Task[None]] = set()
        self._delays = DelayedActions(clock, self._add)
        self._garbage = JobGarbage(objects, clock)
        self._listers = Listers(
            queues=Informer(objects, QUEUE, clock),
            pod_groups=Informer(objects, POD_GROUP, clock, self._pod_group_changed),
            priority_classes=Informer(objects, PRIORITY_CLASS, clock),
        )
        writer = JobWriter(objects, clock, self._cache, self._recorder)
        self._killer = JobKiller(writer, self._listers.pod_groups, loses_counters=settings.loses_finished_counters)
        self._syncer = JobSyncer(writer, self._listers)

    async def run(self) -> None:
        """Run until cancelled."""
        listers = (self._listers.queues, self._listers.pod_groups, self._listers.priority_classes)
        for lister in listers:
            await lister.fill_patiently()
        watches = (
            *listers,
            Informer(self._objects, JOB, self._clock, self._job_changed),
            Informer(self._objects, POD, self._clock, self._pod_changed),
            Informer(self._objects, COMMAND, self._clock, self._command_changed),
        )
        try:
            async with asyncio.TaskGroup() as group:
                for watch in watches:
                    group.create_task(watch.run())
                for queue in self._queues:
                    group.create_task(self._work(queue))
        finally:
            self._delays.close()
            await self._garbage.close()
            await cancel(self._background)

    def _add(self, request: Request) -> None:
        self._queue_of(request).add(request)

    def _queue_of(self, request: Request) -> WorkQueue[Request]:
        return self._queues[zlib.crc32(request.key.encode()) % WORKERS]

    def _job_changed(self, change: Change, old: Object | None, job: Object) -> None:
        if change == "DELETED":
            self._cache.remove_job(job)
            self._killer.leaving.pop(key_of(job), None)
            self._garbage.forget(job)
            return
        self._cache.put_job(job)
        self._garbage.consider(job)
        request = job_requests.job_request(old, job)
        if request is not None:
            self._add(request)

    def _pod_changed(self, change: Change, old: Object | None, pod: Object) -> None:
        if not is_job_pod(pod):
            return
        if change != "DELETED":
            self._cache.put_pod(pod)
        request = job_requests.pod_request(change, old, pod, self._cache)
        if change == "DELETED":
            self._cache.remove_pod(pod)
        self._add(request)

    def _pod_group_changed(self, change: Change, old: Object | None, pod_group: Object) -> None:
        request = job_requests.pod_group_request(old, pod_group) if change == "MODIFIED" else None
        if request is not None:
            self._add(request)

    def _command_changed(self, change: Change, _old: Object | None, command: Object) -> None:
        target = command.get("target") or {}
        if change != "ADDED" or target.get("kind") != "Job":
            return
        if str(target.get("apiVersion", "")).startswith(VOLCANO_BATCH):
            spawn(self._background, asyncio.create_task(self._take_command(command)))

    async def _take_command(self, command: Object) -> None:
        if not await take(self._objects, command):
            return
        namespace, name = command["metadata"]["namespace"], str(command["target"].get("name", ""))
        request = Request(namespace, name, event="CommandIssued", action=str(command.get("action", "")))
        info = self._cache.get(request.key)
        if info is not None and info.job is not None:
            message = (
                f"Start to execute command {request.action}, and clean it up to make sure executed not more than once."
            )
            await self._recorder.record(info.job, "Normal", "CommandIssued", message)
        self._add(request)

    async def _work(self, queue: WorkQueue[Request]) -> None:
        while True:
            request = await queue.get()
            try:
                await self._handle(queue, request)
            except Exception:  # one Job must never stop the controller for the others
                log.exception("A request failed.", key=request.key, request_event=request.event)
            finally:
                queue.done(request)
            await asyncio.sleep(0)  # an API server in this process never waits: let the watches catch up

    async def _handle(self, queue: WorkQueue[Request], request: Request) -> None:
        self._delays.heard(request)
        info = self._cache.get(request.key)
        if info is None or info.job is None:
            return
        decision = choose_action(info.job, request)
        if decision.delay_seconds and not request.delayed:
            after = f"Execute action {decision.action} after {decision.delay_seconds:g}s"
            await self._recorder.record(info.job, "Normal", "ExecuteAction", after)
            self._delays.put(request, decision)
            return
        if decision.action != SYNC and not request.delayed:
            message = f"Start to execute action {decision.action} "
            await self._recorder.record(info.job, "Normal", "ExecuteAction", message)
        try:
            await self._execute(info, decision.action, request)
        except (ControllerError, ApiError) as error:
            await self._failed(queue, request, decision.action, error)
            return
        queue.forget(request)
        if decision.action != SYNC:
            self._delays.done(request, decision.action)

    async def _execute(self, info: JobInfo, action: str, request: Request) -> None:
        if info.job is None:
            return
        step = transition(phase_of(info.job), action)
        leaving = self._killer.leaving.pop(request.key, None)
        if step.effect is Effect.SYNC:
            await self._syncer.sync(info, step, leaving)
        else:
            target = Target(action, request.task, request.pod, request.partition)
            await self._killer.kill(info, step, target)

    async def _failed(
        self, queue: WorkQueue[Request], request: Request, action: str, error: ControllerError | ApiError
    ) -> None:
        """Try again later; when the budget is used up, terminate the Job."""
        if queue.failures(request) < MAXIMUM_REQUEUES:
            delay = queue.failed(request)
            spawn(self._background, asyncio.create_task(self._again(request, delay)))
            return
        log.warning("A Job used up its retries and is terminated.", key=request.key, error=str(error))
        info = self._cache.get(request.key)
        if info is None or info.job is None:
            return
        message = f"Job failed on action {action} for retry limit reached"
        await self._recorder.record(info.job, "Normal", "ExecuteAction", message)
        await self._execute(info, "TerminateJob", request)

    async def _again(self, request: Request, delay: float) -> None:
        await self._clock.sleep(delay)
        self._add(request)
