"""Errors that a caller can act on. No web framework here: `problems.py` turns them into RFC 9457 answers."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar


class AppError(Exception):
    """Base of every error that an answer may show.

    `detail` is one sentence with the numbers in it, never a value that the caller sent, an address or a secret.
    """

    type: ClassVar[str] = "internal-error"
    title: ClassVar[str] = "Internal error"
    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR

    def __init__(self, detail: str, *, headers: dict[str, str] | None = None, **extras: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.headers = headers or {}
        self.extras = extras


class InternalError(AppError):
    """Something failed that is not the caller's fault; only the request id is told."""


class InvalidJson(AppError):
    """The body is not JSON (RFC 8259)."""

    type = "invalid-json"
    title = "The body is not valid JSON"
    status = HTTPStatus.BAD_REQUEST


class InvalidYaml(AppError):
    """The body is not YAML (yaml.org, 1.1 and 1.2)."""

    type = "invalid-yaml"
    title = "The body is not valid YAML"
    status = HTTPStatus.BAD_REQUEST


class InvalidCursor(AppError):
    """The page cursor was not given out by this list with these filters."""

    type = "invalid-cursor"
    title = "The cursor does not belong to this list"
    status = HTTPStatus.BAD_REQUEST


class Unauthenticated(AppError):
    """No valid bearer token (RFC 6750)."""

    type = "unauthenticated"
    title = "A valid bearer token is needed"
    status = HTTPStatus.UNAUTHORIZED

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(AppError):
    """The token is valid, its role is not enough."""

    type = "forbidden"
    title = "The role of this token does not allow this"
    status = HTTPStatus.FORBIDDEN


class NotFound(AppError):
    """No such object, or one of another team."""

    type = "not-found"
    title = "No such object"
    status = HTTPStatus.NOT_FOUND


class TaskNotFound(NotFound):
    """The job has no task of this name. Extras: tasks."""

    type = "task-not-found"
    title = "The job has no such task"


class ReplicaNotFound(NotFound):
    """The task has no replica of this index. Extras: replicas, by task."""

    type = "replica-not-found"
    title = "The task has no such replica"


class AttemptNotFound(NotFound):
    """The job has not had this attempt. Extras: attempt, the latest."""

    type = "attempt-not-found"
    title = "The job has had no such attempt"


class ContainerNotFound(NotFound):
    """The pod has no container of this name, or no earlier run of it. Extras: containers."""

    type = "container-not-found"
    title = "The pod has no such container"


class MethodNotAllowed(AppError):
    """The path exists, the method does not (RFC 9110, 15.5.6)."""

    type = "method-not-allowed"
    title = "This path does not have this method"
    status = HTTPStatus.METHOD_NOT_ALLOWED


class UnsupportedMediaType(AppError):
    """The body's content type is not one that this route reads."""

    type = "unsupported-media-type"
    title = "The content type is not supported here"
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class QuotaExceeded(AppError):
    """The job does not fit into the team's quota now. Extras: resource, limit, used, requested."""

    type = "quota-exceeded"
    title = "The team's quota has no room for this job now"
    status = HTTPStatus.CONFLICT


class NameInUse(AppError):
    """Another live object has this name."""

    type = "name-in-use"
    title = "The name is in use"
    status = HTTPStatus.CONFLICT


class JobFinished(AppError):
    """The job has ended; terminal states never change."""

    type = "job-finished"
    title = "The job has finished"
    status = HTTPStatus.CONFLICT


class JobNotFinished(AppError):
    """The job has not ended, and this needs a job that has. Extras: state."""

    type = "job-not-finished"
    title = "The job has not finished"
    status = HTTPStatus.CONFLICT


class QueueNotOpen(AppError):
    """The queue does not take jobs."""

    type = "queue-not-open"
    title = "The queue is not open"
    status = HTTPStatus.CONFLICT


class Conflict(AppError):
    """The request does not go with the present state of the object."""

    type = "conflict"
    title = "The request conflicts with the present state"
    status = HTTPStatus.CONFLICT


class LogsNotAvailable(AppError):
    """Nothing has been printed yet: no container has started. Extras: reason, what it waits for."""

    type = "logs-not-available"
    title = "There is no log yet"
    status = HTTPStatus.CONFLICT


class LogsGone(AppError):
    """The pod is not there any more, and its last lines were not kept. Extras: reason, why it went."""

    type = "logs-gone"
    title = "The log is gone"
    status = HTTPStatus.GONE


class PreconditionFailed(AppError):
    """`If-Match` names another version (RFC 9110, 13.1.1)."""

    type = "precondition-failed"
    title = "The object has changed since it was read"
    status = HTTPStatus.PRECONDITION_FAILED


class PreconditionRequired(AppError):
    """`If-Match` is needed (RFC 6585, 3)."""

    type = "precondition-required"
    title = "If-Match is needed"
    status = HTTPStatus.PRECONDITION_REQUIRED


class BodyTooLarge(AppError):
    """The body is over the limit. Extras: limit, in bytes."""

    type = "body-too-large"
    title = "The body is too large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


@dataclass(frozen=True, slots=True)
class Invalid:
    """One fault of a request: where (JSON Pointer, RFC 6901), what, and a code for programs."""

    pointer: str
    detail: str
    code: str


class ValidationError(AppError):
    """The request is well-formed but wrong. Extras: errors, one `Invalid` for each fault."""

    type = "validation-error"
    title = "The request is not valid"
    status = HTTPStatus.UNPROCESSABLE_ENTITY

    def __init__(self, faults: list[Invalid]) -> None:
        count = len(faults)
        detail = faults[0].detail if count == 1 else f"{count} fields are not valid; see errors."
        super().__init__(
            detail, errors=[{"pointer": fault.pointer, "detail": fault.detail, "code": fault.code} for fault in faults]
        )


class JobNeverFits(AppError):
    """The job is larger than a limit that does not move. Extras: resource, limit, requested."""

    type = "job-never-fits"
    title = "The job can never run with these limits"
    status = HTTPStatus.UNPROCESSABLE_ENTITY


class QueueNotGranted(AppError):
    """The team may not use this queue, or has none."""

    type = "queue-not-granted"
    title = "The queue is not granted to this team"
    status = HTTPStatus.UNPROCESSABLE_ENTITY


class IdempotencyKeyReused(AppError):
    """The key belongs to another request body (IETF draft idempotency-key-header, 2.7)."""

    type = "idempotency-key-reused"
    title = "The Idempotency-Key belongs to another request"
    status = HTTPStatus.UNPROCESSABLE_ENTITY


class GpuNotWhole(AppError):
    """A fraction of a GPU was asked for; Kubernetes' extended resources are whole."""

    type = "gpu-not-whole"
    title = "GPUs are given out whole"
    status = HTTPStatus.UNPROCESSABLE_ENTITY


class Unavailable(AppError):
    """A part of the service is away for the moment (RFC 9110, 15.6.4)."""

    type = "unavailable"
    title = "The service is not available for the moment"
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, detail: str, *, retry_after_seconds: int = 5, **extras: Any) -> None:
        super().__init__(detail, headers={"Retry-After": str(retry_after_seconds)}, **extras)


class ClusterUnavailable(Unavailable):
    """The Kubernetes API server does not answer."""

    type = "cluster-unavailable"
    title = "The cluster is not available for the moment"
