"""What the controller does to one Volcano Job. Each act may be repeated without harm."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from app.cluster.errors import Rejected, RightMissing
from app.cluster.names import RECORDED_FINALIZER
from app.cluster.observed import ObservedJob
from app.cluster.pods import PodReference, Pods
from app.cluster.volcano import JobReference, Volcano
from app.controller.facts import Action, Decision, PodFacts
from app.failpoints import (
    CANCEL_COMMANDED,
    FINALIZER_RELEASED,
    POD_ADMITTED,
    POD_DELETED,
    RETENTION_DELETED,
    SUSPEND_COMMANDED,
    failpoint,
)
from app.telemetry import RECONCILE_ERRORS

_WORDS = {
    Action.TERMINATE: "stop the job",
    Action.ABORT: "suspend the job",
    Action.ADMIT_PODS: "let a pod of the job go",
    Action.DELETE_PODS: "remove a failed pod of the job",
    Action.RELEASE_FINALIZER: "let go of the finished job",
    Action.DELETE: "remove the finished job",
}


class Actor:
    """Sends Commands, lets pods go, releases finalizers and deletes, and remembers which Commands it sent."""

    def __init__(self, volcano: Volcano, pods: Pods) -> None:
        self._volcano = volcano
        self._pods = pods
        self._commands: dict[UUID, tuple[int, datetime]] = {}
        self._let_go: dict[UUID, set[str]] = {}
        self._acts: dict[Action, Callable[[JobReference], Awaitable[object]]] = {
            Action.TERMINATE: self._terminate,
            Action.ABORT: self._abort,
            Action.RELEASE_FINALIZER: self._release_finalizer,
            Action.DELETE: self._delete,
        }

    def commands(self, job_id: UUID) -> tuple[int, datetime | None]:
        """How many Commands were sent for a job, and when the last."""
        return self._commands.get(job_id, (0, None))

    def forget(self, job_id: UUID) -> None:
        """The job has ended, or its present run has."""
        self._commands.pop(job_id, None)
        self._let_go.pop(job_id, None)

    def as_let_go(self, job_id: UUID, pods: tuple[PodFacts, ...]) -> tuple[PodFacts, ...]:
        """The pods of a job, without our gate on those that were let go and whose news have not come by the watch."""
        let_go = self._let_go.get(job_id)
        if not let_go:
            return pods
        let_go &= {pod.uid for pod in pods if pod.gated}
        return tuple(replace(pod, gates=()) if pod.uid in let_go else pod for pod in pods)

    async def act(
        self, action: Action, shown: ObservedJob, decision: Decision, job_id: UUID, at: datetime
    ) -> str | None:
        """Carry out one action of a decision.

        Returns:
            None when the cluster took it; a sentence for the job's owner when it refused and, as things are now, would
            refuse again.

        Raises:
            ClusterError: the cluster is away or busy; ask again later.
        """
        if action in {Action.TERMINATE, Action.ABORT}:
            self._commands[job_id] = (self.commands(job_id)[0] + 1, at)
        try:
            if action is Action.ADMIT_PODS:
                await self._admit(job_id, shown.namespace, decision.to_admit)
            elif action is Action.DELETE_PODS:
                await self._delete_pods(shown.namespace, decision.to_delete)
            else:
                await self._acts[action](JobReference(shown.namespace, shown.name, shown.uid))
        except (Rejected, RightMissing) as error:
            RECONCILE_ERRORS.labels(str(action)).inc()
            return f"The cluster refuses to {_WORDS[action]}: {error.message}"
        return None

    async def _terminate(self, job: JobReference) -> None:
        await self._volcano.create_command(job, "TerminateJob")
        failpoint(CANCEL_COMMANDED)

    async def _abort(self, job: JobReference) -> None:
        await self._volcano.create_command(job, "AbortJob")
        failpoint(SUSPEND_COMMANDED)

    async def _admit(self, job_id: UUID, namespace: str, pods: Iterable[PodFacts]) -> None:
        """Let pods go; one that is not as it was seen is looked at again by the watch."""
        for pod in pods:
            if await self._pods.admit_pod(PodReference(namespace, pod.name, pod.uid), pod.gates, pod.index):
                self._let_go.setdefault(job_id, set()).add(pod.uid)
            failpoint(POD_ADMITTED)

    async def _delete_pods(self, namespace: str, pods: Iterable[PodFacts]) -> None:
        for pod in pods:
            await self._pods.delete_pod(PodReference(namespace, pod.name, pod.uid))
            failpoint(POD_DELETED)

    async def _release_finalizer(self, job: JobReference) -> None:
        await self._volcano.remove_finalizer(job, RECORDED_FINALIZER)
        failpoint(FINALIZER_RELEASED)

    async def _delete(self, job: JobReference) -> None:
        await self._volcano.delete_job(job)
        failpoint(RETENTION_DELETED)
