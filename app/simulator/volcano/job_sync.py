"""Bringing a Job's objects to what its spec says (volcano-facts 2.5, `syncJob`)."""

import copy
from dataclasses import dataclass, field

from app.simulator.kinds import POD_GROUP
from app.simulator.objects import ApiError, Object
from app.simulator.volcano import job_status, names, pod_groups
from app.simulator.volcano.depends_on import may_start
from app.simulator.volcano.informer import Informer
from app.simulator.volcano.job_cache import JobInfo
from app.simulator.volcano.job_states import Transition
from app.simulator.volcano.job_writer import ControllerError, JobWriter
from app.simulator.volcano.pod_builder import build_pod, pod_name


@dataclass(slots=True)
class _Plan:
    """Pods that stay, are to be made or removed, and how many are on their way out."""

    present: list[Object] = field(default_factory=list)
    missing: list[Object] = field(default_factory=list)
    surplus: list[Object] = field(default_factory=list)
    terminating: int = 0


@dataclass(frozen=True, slots=True)
class Listers:
    """The informers that a sync reads."""

    queues: Informer
    pod_groups: Informer
    priority_classes: Informer

    def priorities(self) -> dict[str, int]:
        """Value of each PriorityClass."""
        return {pc["metadata"]["name"]: int(pc.get("value", 0)) for pc in self.priority_classes.items.values()}


class JobSyncer:
    """Creates the PodGroup, then, once the scheduler has let the Job in, its pods; counts them."""

    def __init__(self, writer: JobWriter, listers: Listers) -> None:
        self._writer = writer
        self._listers = listers

    async def sync(self, info: JobInfo, transition: Transition, leaving: Object | None) -> None:
        """Carry out a SYNC transition.

        Args:
            info: the Job and its pods.
            transition: gives the next phase from the new counts.
            leaving: the PodGroup that the last kill deleted and that this sync still sees.

        Raises:
            ControllerError: the queue is missing, or pods could not be created or deleted.
            ApiError: a write was refused.
        """
        job = info.job
        if job is None or job["metadata"].get("deletionTimestamp"):
            return
        queue = job["spec"].get("queue", "default")
        if self._listers.queues.named(queue) is None:
            raise ControllerError(f'queue.scheduling.volcano.sh "{queue}" not found')
        job = await self._prepare(job, leaving)
        pod_group = leaving or self._pod_group(job)
        admitted = pod_group is not None and pod_groups.phase_of(pod_group) not in pod_groups.WAITING
        if pod_group is not None:
            await self._tell_condition(job, pod_group)
        if admitted:
            await self._sync_pods(info, job, transition)
        else:
            await self._write(job, job.get("status") or {}, transition)

    async def _prepare(self, job: Object, leaving: Object | None) -> Object:
        initiated = job_status.phase_of(job) not in ("", "Pending")
        if not initiated:
            job = await self._initiate(job)
            await self._writer.add_plugins(job)
            job = _with_controlled_resources(job)
        else:
            await self._writer.update_plugins(job)
        if leaving is None:
            await self._ensure_pod_group(job)
        return job

    async def _initiate(self, job: Object) -> Object:
        if job_status.phase_of(job):
            return job
        status = {**(job.get("status") or {}), "minAvailable": job["spec"].get("minAvailable", 0)}
        return await self._writer.status(job, job_status.enter(status, "Pending", self._writer.clock.stamp()))

    async def _ensure_pod_group(self, job: Object) -> None:
        present, priorities = self._pod_group(job), self._listers.priorities()
        objects = self._writer.objects
        try:
            if present is None:
                self._listers.pod_groups.put(
                    await objects.create(POD_GROUP, pod_groups.build_pod_group(job, priorities))
                )
                return
            if pod_groups.update_pod_group(present, job, priorities) is not None:
                await self._update_pod_group(present, job, priorities)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return
            message = f"Failed to create PodGroup, err: {error.message}"
            await self._writer.recorder.record(job, "Warning", "PodGroupError", message)
            raise

    async def _update_pod_group(self, present: Object, job: Object, priorities: dict[str, int]) -> None:
        """Write the Job's present numbers to the newest version; Volcano writes to its lister's, which may conflict."""
        metadata, objects = present["metadata"], self._writer.objects
        newest = await objects.get(POD_GROUP, metadata["namespace"], metadata["name"])
        changed = pod_groups.update_pod_group(newest, job, priorities)
        if changed is not None:
            self._listers.pod_groups.put(await objects.replace(POD_GROUP, changed))

    def _pod_group(self, job: Object) -> Object | None:
        key = f"{job['metadata']['namespace']}/{names.pod_group_name(job)}"
        return self._listers.pod_groups.items.get(key)

    async def _tell_condition(self, job: Object, pod_group: Object) -> None:
        newest = pod_groups.newest_condition(pod_group)
        if newest is None or newest.get("type") == "Scheduled":
            return
        message = (
            f"PodGroup {job['metadata']['namespace']}:{job['metadata']['name']} {str(newest['type']).lower()}, "
            f"reason: {newest.get('message', '')}"
        )
        await self._writer.recorder.record(job, "Warning", "PodGroupPending", message)

    async def _sync_pods(self, info: JobInfo, job: Object, transition: Transition) -> None:
        plan = _plan(info, job)
        created = await self._writer.create_pods(job, plan.missing)
        await self._writer.delete_pods(job, plan.surplus, mark=False)
        counts = job_status.count([*plan.present, *created], plan.terminating + len(plan.surplus))
        old = job.get("status") or {}
        status = job_status.with_counts(old, counts)
        status.pop("runningDuration", None)
        status["minAvailable"] = job["spec"].get("minAvailable", 0)
        await self._write(job, status, transition)

    async def _write(self, job: Object, status: Object, transition: Transition) -> None:
        phase = transition.next_phase(job["spec"], status)
        if phase in (None, job_status.phase_of(job)) and status == (job.get("status") or {}):
            return
        await self._writer.status(job, job_status.enter(status, phase, self._writer.clock.stamp()))


def _with_controlled_resources(job: Object) -> Object:
    plugins = job["spec"].get("plugins") or {}
    held = (job.get("status") or {}).get("controlledResources") or {}
    wanted = {**held, **{f"plugin-{name}": name for name in plugins}}
    if wanted == held:
        return job
    changed = copy.copy(job)
    changed["status"] = {**job["status"], "controlledResources": wanted}
    return changed


def _plan(info: JobInfo, job: Object) -> _Plan:
    plan = _Plan()
    by_name = info.by_name()
    for task in job["spec"]["tasks"]:
        known = dict(info.pods.get(task["name"], {}))
        missing = []
        for index in range(int(task.get("replicas", 0))):
            pod = known.pop(pod_name(job["metadata"]["name"], task["name"], index), None)
            if pod is None:
                missing.append(build_pod(job, task, index))
            else:
                _place(plan, pod)
        if missing and may_start(job, task, by_name):
            plan.missing += missing
        plan.surplus += known.values()
    return plan


def _place(plan: _Plan, pod: Object) -> None:
    if pod["metadata"].get("deletionTimestamp"):
        plan.terminating += 1
        return
    if names.annotation(pod, names.OUT_OF_SYNC) is not None:
        plan.surplus.append(pod)
    plan.present.append(pod)
