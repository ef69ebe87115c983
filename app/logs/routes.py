"""The HTTP route of logs."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request

from app.auth.access import Caller
from app.errors import (
    AttemptNotFound,
    ClusterUnavailable,
    ContainerNotFound,
    LogsGone,
    LogsNotAvailable,
    NotFound,
    ReplicaNotFound,
    TaskNotFound,
    Unavailable,
    ValidationError,
)
from app.jobs.fields import MAXIMUM_REPLICAS
from app.logs.answer import LogAnswer
from app.logs.choosing import Asked
from app.logs.service import Logs
from app.moments import Moment
from app.names import DnsLabel
from app.problems import responses
from app.validation import invalid

router = APIRouter(prefix="/v1", tags=["jobs"])

MOST_LINES = 1_000_000

_HEADERS = {
    "Pumice-Log-Source": "`live`, `kept` (last lines kept when the pod ended) or `mixed`",
    "Pumice-Log-Truncated": "`true` when the beginning of a kept log is missing",
    "Pumice-Log-Missing": "Replicas that are not in the text, each with the type of the problem that says why",
    "Pumice-Log-Limit-Bytes": "Where the text is cut; a last line says so when it was",
}
_OK = {
    "description": "What the containers printed, byte for byte; of several replicas line by line, each behind its name",
    "content": {"text/plain": {"schema": {"type": "string", "format": "binary"}}},
    "headers": {
        name: {"schema": {"type": "string"}, "description": description} for name, description in _HEADERS.items()
    },
}


async def _logs(request: Request) -> Logs:
    logs: Logs = request.app.state.logs
    return logs


async def asked(
    *,
    task: Annotated[DnsLabel | None, Query(description="Name of a task; all tasks without it")] = None,
    replica: Annotated[
        int | None, Query(ge=0, le=MAXIMUM_REPLICAS - 1, description="Index of a replica; all of them without it")
    ] = None,
    attempt: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="Of this run alone; without it each replica's newest pod")
    ] = None,
    container: Annotated[DnsLabel | None, Query(description="Another container than the task's own")] = None,
    tail: Annotated[
        int | None, Query(ge=0, le=MOST_LINES, description="So many lines at the end, of each replica")
    ] = None,
    since: Annotated[Moment | None, Query(description="Nothing printed before this time, with its zone")] = None,
    follow: Annotated[
        bool, Query(description="Go on until the job has ended; waits for a job that has not begun")
    ] = False,
    previous: Annotated[bool, Query(description="Of the run before the container's last restart in place")] = False,
) -> Asked:
    """What a caller wants to read.

    Raises:
        ValidationError: `follow` and `previous` together.
    """
    if follow and previous:
        words = "What follow waits for, a run that is over does not print; leave one of the two out"
        raise ValidationError([invalid(("query", "previous"), words, "follow-and-previous")])
    return Asked(task, replica, attempt, container, tail, since, follow, previous)


@router.get(
    "/jobs/{job_id}/logs",
    status_code=HTTPStatus.OK,
    response_class=LogAnswer,
    responses={
        200: _OK,
        **responses(NotFound, TaskNotFound, ReplicaNotFound, AttemptNotFound, ContainerNotFound),
        **responses(LogsNotAvailable, LogsGone, ValidationError),
        **responses(Unavailable, ClusterUnavailable),
    },
)
async def read_logs(
    job_id: UUID, caller: Caller, wanted: Annotated[Asked, Depends(asked)], logs: Annotated[Logs, Depends(_logs)]
) -> LogAnswer:
    """What the containers of a job print, from live pods, or the last lines of pods that are gone."""
    return LogAnswer(logs.open(job_id, caller.team, wanted), logs.closing)
