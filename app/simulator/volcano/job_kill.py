"""Killing a Job's pods (volcano-facts 2.6, `killPods`)."""

from dataclasses import dataclass

from app.simulator.objects import ApiError, Object
from app.simulator.volcano import job_status, names
from app.simulator.volcano.informer import Informer
from app.simulator.volcano.job_cache import JobInfo
from app.simulator.volcano.job_states import RETAIN_ENDED, Effect, Transition
from app.simulator.volcano.job_writer import NOT_FOUND, JobWriter


@dataclass(frozen=True, slots=True)
class Target:
    """The pods that a targeted restart means: of one task, one partition of it, or one pod."""

    action: str
    task: str = ""
    pod: str = ""
    partition: str = ""

    def pods(self, info: JobInfo) -> list[Object]:
        """The pods of this target that are known."""
        pods = list(info.pods.get(self.task, {}).values())
        if self.action == "RestartPod":
            return [pod for pod in pods if pod["metadata"]["name"] == self.pod]
        if self.action == "RestartPartition":
            return [p for p in pods if (p["metadata"].get("labels") or {}).get(names.PARTITION_ID) == self.partition]
        return pods


class JobKiller:
    """Deletes pods, raises the version and removes the PodGroup.

    `leaving` holds each PodGroup that was just deleted. The real controller's lister still shows it when the next
    request of the same Job is carried out, which is why a restarted Job gets its first pods before its new PodGroup
    exists (traces 07 and 08).
    """

    def __init__(self, writer: JobWriter, pod_groups: Informer, *, loses_counters: bool) -> None:
        self._writer = writer
        self._pod_groups = pod_groups
        self._loses_counters = loses_counters
        self.leaving: dict[str, Object] = {}

    async def kill(self, info: JobInfo, transition: Transition, target: Target) -> None:
        """Carry out a KILL or KILL_TARGET transition.

        Raises:
            ControllerError: some pods could not be deleted.
            ApiError: the status could not be written.
        """
        job = info.job
        if job is None or job["metadata"].get("deletionTimestamp"):
            return
        full = transition.effect is Effect.KILL
        kept, doomed, terminating = _sort_out(info, job, transition, None if full else target)
        await self._writer.delete_pods(job, doomed, mark=True)
        counted = [] if self._loses_counters else kept
        status = self._next_status(job, transition, job_status.count(counted, terminating + len(doomed)), full=full)
        await self._writer.remove_plugins(job)
        try:
            await self._writer.status(job, status)
        except ApiError as error:
            if error.code == NOT_FOUND:
                return
            raise
        await self._remove_pod_group(job)

    def _next_status(self, job: Object, transition: Transition, counts: Object, *, full: bool) -> Object:
        status = job_status.with_counts(job.get("status") or {}, counts)
        if full:
            status["version"] = int(status.get("version", 0)) + 1
        plugins = {f"plugin-{plugin}" for plugin in job["spec"].get("plugins") or {}}
        held = {key: value for key, value in status.pop("controlledResources", {}).items() if key not in plugins}
        if held:
            status["controlledResources"] = held
        if transition.counts:
            status["retryCount"] = int(status.get("retryCount", 0)) + 1
        phase = transition.next_phase(job["spec"], status)
        since = (status.get("state") or {}).get("lastTransitionTime")
        if phase is not None:
            since = self._writer.clock.stamp_micro()
            status = job_status.enter(status, phase, self._writer.clock.stamp())
        if since:
            status["runningDuration"] = job_status.running_duration(job["metadata"]["creationTimestamp"], since)
        return status

    async def _remove_pod_group(self, job: Object) -> None:
        pod_group = self._pod_groups.items.get(f"{job['metadata']['namespace']}/{names.pod_group_name(job)}")
        if pod_group is None:
            return
        await self._writer.delete_pod_group(pod_group)
        self._pod_groups.items.pop(names.key_of(pod_group), None)
        self.leaving[names.key_of(job)] = pod_group


def _sort_out(
    info: JobInfo, job: Object, transition: Transition, target: Target | None
) -> tuple[list[Object], list[Object], int]:
    """Return the pods to keep, those to delete, and how many are on their way out already."""
    pods = info.all_pods() if target is None else target.pods(info)
    living = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    retain = transition.retain
    last_retry = int((job.get("status") or {}).get("retryCount", 0)) >= int(job["spec"].get("maxRetry", 0)) - 1
    if target is None and last_retry:
        retain = RETAIN_ENDED
    if target is not None:
        retain = frozenset()
    kept = [pod for pod in living if (pod.get("status") or {}).get("phase") in retain]
    doomed = [pod for pod in living if (pod.get("status") or {}).get("phase") not in retain]
    return kept, doomed, len(pods) - len(living)
