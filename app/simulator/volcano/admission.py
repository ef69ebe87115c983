"""Volcano's webhooks as Helm enables them in v1.15.1 (volcano-facts 3): Jobs, Queues, and PodGroups at creation.

The API server calls `mutate`, then checks its own schema (422), then calls `validate`. Writes to a status subresource
are not sent to webhooks.
"""

from collections.abc import Callable
from typing import Literal, TypeVar

from app.simulator.kinds import JOB, POD_GROUP, QUEUE, Kind
from app.simulator.objects import ApiError, Object
from app.simulator.volcano import admission_jobs, admission_pod_groups, admission_queues
from app.simulator.volcano.admission_refusal import Refusal

T = TypeVar("T")
Operation = Literal["CREATE", "UPDATE", "DELETE"]
Read = Callable[[Kind, str | None, str], Object | None]
Select = Callable[[Kind], list[Object]]


class Denial(ApiError):
    """What a client reads when a webhook says no: a 400 without a reason (volcano-traces 21).

    `words` is what the webhook itself answers; a kube-apiserver puts the webhook's name before it.
    """

    def __init__(self, webhook: str, words: str) -> None:
        super().__init__(400, "", f'admission webhook "{webhook}" denied the request: {words}')
        self.words = words


class VolcanoAdmission:
    """Changes and refuses writes as Volcano's webhook manager does.

    Args:
        read: one object by kind, namespace and name, or None.
        select: all objects of a kind.
    """

    def __init__(self, read: Read, select: Select) -> None:
        self._read = read
        self._select = select

    def mutate(self, operation: Operation, kind: Kind, old: Object | None, new: Object) -> Object:
        """Return the object with Volcano's defaults; only new Jobs and Queues are changed.

        Raises:
            Denial: a quantity cannot be read.
        """
        del old
        if operation != "CREATE":
            return new
        if kind == JOB:
            return _denied_by("mutatejob.volcano.sh", lambda: admission_jobs.mutate(new))
        if kind == QUEUE:
            return _denied_by("mutatequeue.volcano.sh", lambda: admission_queues.mutate(new))
        return new

    def validate(self, operation: Operation, kind: Kind, old: Object | None, new: Object | None) -> None:
        """Refuse what Volcano refuses.

        Raises:
            Denial: with Volcano's words.
        """
        if kind == JOB and new is not None:
            _denied_by("validatejob.volcano.sh", lambda: self._validate_job(operation, old, new))
        elif kind == QUEUE:
            _denied_by("validatequeue.volcano.sh", lambda: self._validate_queue(operation, old, new))
        elif kind == POD_GROUP and operation == "CREATE" and new is not None:
            _denied_by("validatepodgroup.volcano.sh", lambda: admission_pod_groups.validate(new, self._queue))

    def _validate_job(self, operation: Operation, old: Object | None, new: Object) -> None:
        if operation == "CREATE":
            admission_jobs.validate_new(new, self._queues())
        elif operation == "UPDATE" and old is not None:
            admission_jobs.validate_update(old, new)

    def _validate_queue(self, operation: Operation, old: Object | None, new: Object | None) -> None:
        if operation == "DELETE":
            if old is not None:
                admission_queues.validate_delete(old, self._queues())
        elif new is not None:
            admission_queues.validate(old, new, self._queues())

    def _queue(self, name: str) -> Object | None:
        return self._read(QUEUE, None, name)

    def _queues(self) -> dict[str, Object]:
        return {queue["metadata"]["name"]: queue for queue in self._select(QUEUE)}


def _denied_by(webhook: str, step: Callable[[], T]) -> T:
    try:
        return step()
    except Refusal as refusal:
        raise Denial(webhook, str(refusal)) from None
