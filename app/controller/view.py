"""What the controller sees of the cluster: five informers, and the questions that deciding asks of them."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

from app.cluster.errors import RightMissing
from app.cluster.informer import Informer, Source
from app.cluster.informer_settings import InformerMetrics
from app.cluster.kinds import JOB, NODE, POD, POD_GROUP, QUEUE
from app.cluster.observe import observe_job, observe_node, observe_pod_group, observe_queue
from app.cluster.observe_pod import observe_pod
from app.cluster.observed import ObservedJob, ObservedPod, ObservedPodGroup
from app.controller.facts import JobFacts
from app.telemetry import WATCH_AGE_SECONDS, WATCH_RELISTS, WATCH_STRANGE

OnJob = Callable[[UUID], None]
_Labelled = ObservedJob | ObservedPod | ObservedPodGroup


class WatchMetrics(InformerMetrics):
    """Counts what informers report, and remembers when the cluster last failed to answer."""

    def __init__(self) -> None:
        self.failed_at: float | None = None
        self.refused = False

    def listed(self, kind: str, objects: int) -> None:
        """Count a complete list."""
        WATCH_RELISTS.labels(kind).inc()

    def skipped(self, kind: str, reason: str) -> None:
        """Count what was not understood."""
        WATCH_STRANGE.labels(kind).inc()

    def failed(self, kind: str, error: str) -> None:
        """Remember the failure, and whether the cluster answered all the same."""
        self.failed_at = time.monotonic()
        self.refused = error == RightMissing.__name__


class ClusterView:
    """The caches, by the questions asked of them.

    Args:
        source: where lists and watches come from.
        installation: our id; Jobs of another installation are not seen at all.
        on_job: called with the id of each job of which something changed.
        on_queues: called when a queue or a node changed.
        on_contents: called when something changed that is counted by queue.
        on_progress: called instead of both when a pod of a job says how far it is, and nothing else changed.
    """

    def __init__(
        self,
        source: Source,
        installation: UUID,
        on_job: OnJob,
        on_queues: Callable[[], None],
        *,
        on_contents: Callable[[], None],
        on_progress: OnJob,
    ) -> None:
        self._installation = str(installation)
        self._on_job = on_job
        self._on_queues = on_queues
        self._on_contents = on_contents
        self._on_progress = on_progress
        self._metrics = WatchMetrics()
        self._departed: dict[UUID, dict[str, ObservedPod]] = {}
        self.on_pod: Callable[[ObservedPod | None, ObservedPod | None], None] | None = None
        given: dict[str, Any] = {"metrics": self._metrics}
        tell, tell_queues = self._tell_job, self._tell_queues
        self.jobs = Informer(source, JOB, observe_job, on_change=tell, index_by=lambda seen: seen.job_id, **given)
        self.pods = Informer(source, POD, observe_pod, on_change=tell, index_by=lambda seen: seen.job_id, **given)
        self.pod_groups = Informer(
            source, POD_GROUP, observe_pod_group, on_change=tell, index_by=lambda seen: seen.job_uid, **given
        )
        self.queues = Informer(source, QUEUE, observe_queue, on_change=tell_queues, **given)
        self.nodes = Informer(source, NODE, observe_node, on_change=tell_queues, **given)

    def runs(self) -> list[Any]:
        """One coroutine for each informer; none of them ends by itself."""
        return [informer.run() for informer in self._informers()]

    async def synced(self) -> None:
        """Wait until every kind has been listed once."""
        for informer in self._informers():
            await informer.synced.wait()

    def is_ours(self, seen: ObservedJob) -> bool:
        """Whether this installation made a Job."""
        return seen.installation == self._installation

    def our_jobs(self) -> Iterator[ObservedJob]:
        """Every Job of this installation."""
        return (seen for seen in self.jobs.cache.values() if self.is_ours(seen))

    def job_of(self, job: JobFacts) -> ObservedJob | None:
        """The Job that belongs to a row: by label, name and, when the row knows it, uid (case S-24)."""
        for seen in self.jobs.indexed(str(job.id)):
            if self.belongs(seen, job):
                return seen
        return None

    def belongs(self, seen: ObservedJob, job: JobFacts) -> bool:
        """Whether a Job is the one of a row."""
        same_name = (seen.namespace, seen.name) == (job.k8s_namespace, job.k8s_name)
        same_id = self.is_ours(seen) and seen.job_id == str(job.id)
        return same_name and same_id and job.k8s_uid in {None, seen.uid}

    def pods_of(self, job_id: UUID, job_uid: str | None) -> list[ObservedPod]:
        """The pods that one Job made."""
        return [pod for pod in self.pods.indexed(str(job_id)) if pod.job_uid == job_uid]

    def departed_of(self, job_id: UUID, job_uid: str | None) -> list[ObservedPod]:
        """Pods that went since they were last recorded, as they were at the last.

        Volcano deletes the pods of a failed run as soon as the next one begins; how they ended must not get lost.
        """
        return [pod for pod in self._departed.get(job_id, {}).values() if pod.job_uid == job_uid]

    def forget_departed(self, job_id: UUID, pods: Iterable[ObservedPod] | None = None) -> None:
        """These pods are recorded, or all of them are of no interest."""
        if pods is None:
            self._departed.pop(job_id, None)
            return
        left = self._departed.get(job_id, {})
        for pod in pods:
            left.pop(pod.uid, None)
        if not left:
            self._departed.pop(job_id, None)

    def pod_group_of(self, job_uid: str) -> ObservedPodGroup | None:
        """The PodGroup of a Job."""
        return next(iter(self.pod_groups.indexed(job_uid)), None)

    def queue_state(self, name: str) -> str | None:
        """State of a Queue: "" for a new one, "missing" for one that is not there, None while nothing is known."""
        if not self.queues.synced.is_set():
            return None
        seen = self.queues.get(name)
        return "missing" if seen is None else seen.state

    def watches(self) -> dict[str, dict[str, Any]]:
        """Whether each watch has seen everything once, and how long ago it last heard from the API server."""
        found: dict[str, dict[str, Any]] = {}
        for informer in self._informers():
            heard_at = informer.last_contact_at
            age = None if heard_at is None else round(time.monotonic() - heard_at, 3)
            found[informer.kind.name] = {"synced": informer.synced.is_set(), "age_seconds": age}
            if age is not None:
                WATCH_AGE_SECONDS.labels(informer.kind.name).set(age)
        return found

    def reachable(self) -> bool:
        """Whether the API server answered after it last failed to."""
        heard = [informer.last_contact_at for informer in self._informers()]
        last = max((at for at in heard if at is not None), default=None)
        failed_at = self._metrics.failed_at
        return last is not None and (failed_at is None or last >= failed_at)

    def refused(self) -> bool:
        """Whether the last failure was an answer: our account lacks a right."""
        return self._metrics.refused

    def _informers(self) -> tuple[Informer[Any], ...]:
        return (self.jobs, self.pod_groups, self.pods, self.queues, self.nodes)

    def _tell_job(self, key: str, old: _Labelled | None, new: _Labelled | None) -> None:
        if isinstance(new, ObservedPod):
            if new.progress_is_strange and not _was_strange(old):
                WATCH_STRANGE.labels("PodProgress").inc()
            if isinstance(old, ObservedPod) and _only_speaks(old, new):
                self._tell_progress(new)
                return
        for seen in (old, new):
            if seen is not None and seen.job_id is not None and (job_id := uuid_of(seen.job_id)) is not None:
                if isinstance(old, ObservedPod) and (new is None or new.uid != old.uid):
                    self._departed.setdefault(job_id, {})[old.uid] = old
                self._on_job(job_id)
                break
        if not isinstance(new or old, ObservedJob):
            self._on_contents()
        if self.on_pod is not None and not isinstance(old or new, ObservedJob | ObservedPodGroup):
            self.on_pod(old, new)  # type: ignore[arg-type]  # a change is of one kind

    def _tell_progress(self, pod: ObservedPod) -> None:
        if pod.job_id is not None and (job_id := uuid_of(pod.job_id)) is not None:
            self._on_progress(job_id)

    def _tell_queues(self, key: str, old: Any, new: Any) -> None:
        self._on_queues()


def _was_strange(old: _Labelled | None) -> bool:
    return isinstance(old, ObservedPod) and old.progress_is_strange


def _only_speaks(old: ObservedPod, new: ObservedPod) -> bool:
    """Whether a change of a pod is of no interest but for how far it is."""
    silent: dict[str, Any] = {"progress": None, "progress_is_strange": False, "resource_version": ""}
    return replace(old, **silent) == replace(new, **silent)


def uuid_of(text: str) -> UUID | None:
    """Read the id that a label holds; None for anything that nobody of ours wrote."""
    try:
        return UUID(text)
    except ValueError:
        return None
