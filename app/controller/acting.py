"""What the controller does to one Volcano Job. Each act may be repeated without harm."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

from app.cluster.errors import Rejected, RightMissing
from app.cluster.names import RECORDED_FINALIZER
from app.cluster.observed import ObservedJob
from app.cluster.volcano import JobReference, Volcano
from app.controller.facts import Action
from app.failpoints import CANCEL_COMMANDED, FINALIZER_RELEASED, RETENTION_DELETED, failpoint
from app.telemetry import RECONCILE_ERRORS

_WORDS = {
    Action.TERMINATE: "stop the job",
    Action.RELEASE_FINALIZER: "let go of the finished job",
    Action.DELETE: "remove the finished job",
}


class Actor:
    """Sends Commands, releases finalizers and deletes, and remembers which Commands it sent."""

    def __init__(self, volcano: Volcano) -> None:
        self._volcano = volcano
        self._commands: dict[UUID, tuple[int, datetime]] = {}
        self._acts: dict[Action, Callable[[JobReference], Awaitable[object]]] = {
            Action.TERMINATE: self._terminate,
            Action.RELEASE_FINALIZER: self._release_finalizer,
            Action.DELETE: self._delete,
        }

    def commands(self, job_id: UUID) -> tuple[int, datetime | None]:
        """How many Commands were sent for a job, and when the last."""
        return self._commands.get(job_id, (0, None))

    def forget(self, job_id: UUID) -> None:
        """The job has ended."""
        self._commands.pop(job_id, None)

    async def act(self, action: Action, shown: ObservedJob, job_id: UUID, at: datetime) -> str | None:
        """Carry out one action.

        Returns:
            None when the cluster took it; a sentence for the job's owner when it refused and, as things are now, would
            refuse again.

        Raises:
            ClusterError: the cluster is away or busy; ask again later.
        """
        if action is Action.TERMINATE:
            self._commands[job_id] = (self.commands(job_id)[0] + 1, at)
        try:
            await self._acts[action](JobReference(shown.namespace, shown.name, shown.uid))
        except (Rejected, RightMissing) as error:
            RECONCILE_ERRORS.labels(str(action)).inc()
            return f"The cluster refuses to {_WORDS[action]}: {error.message}"
        return None

    async def _terminate(self, job: JobReference) -> None:
        await self._volcano.create_command(job, "TerminateJob")
        failpoint(CANCEL_COMMANDED)

    async def _release_finalizer(self, job: JobReference) -> None:
        await self._volcano.remove_finalizer(job, RECORDED_FINALIZER)
        failpoint(FINALIZER_RELEASED)

    async def _delete(self, job: JobReference) -> None:
        await self._volcano.delete_job(job)
        failpoint(RETENTION_DELETED)
