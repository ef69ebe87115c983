"""How submissions are answered, whatever the form in which they came."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Header, Request
from fastapi.responses import Response
from pydantic_core import to_json

from app.errors import (
    AppError,
    Conflict,
    GpuNotWhole,
    IdempotencyKeyReused,
    JobNeverFits,
    NameInUse,
    QueueNotGranted,
    QueueNotOpen,
    QuotaExceeded,
    ValidationError,
)
from app.jobs.bulk import Outcome
from app.jobs.fields import KEY_LENGTH, KEY_PATTERN
from app.jobs.service import Accepted
from app.jobs.views import JobRead, job_read
from app.problems import location, problem_of, responses

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=KEY_LENGTH,
        pattern=KEY_PATTERN,
        description="Visible ASCII. The same key and body give the same job, however often they are sent",
    ),
]

REPLAYED: dict[str, Any] = {
    "model": JobRead,
    "description": "The job that an earlier request with the same key and body made",
    "headers": {"Idempotency-Replayed": {"schema": {"type": "string", "enum": ["true"]}}},
}
WITH_LOCATION: dict[str, Any] = {
    "headers": {"Location": {"schema": {"type": "string"}, "description": "Path of the job"}}
}
REFUSED: tuple[type[AppError], ...] = (
    *(Conflict, GpuNotWhole, IdempotencyKeyReused, JobNeverFits, NameInUse, QueueNotGranted, QueueNotOpen),
    *(QuotaExceeded, ValidationError),
)
"""What can become of a submission beside being accepted."""

REFUSALS = responses(*REFUSED)


def of_one(accepted: Accepted, request: Request, response: Response) -> JobRead:
    """The job, with its path; 200 instead of the route's own status when an earlier request had made it."""
    job = job_read(accepted.row)
    response.headers["Location"] = location(request, f"/v1/jobs/{job.id}")
    if accepted.replayed:
        response.status_code = HTTPStatus.OK
        response.headers["Idempotency-Replayed"] = "true"
    return job


def of_many(outcomes: Sequence[Outcome], request: Request) -> Response:
    """Each outcome in the order of the request."""
    items = [_item(index, outcome, request) for index, outcome in enumerate(outcomes)]
    replayed = sum(item["status"] == HTTPStatus.OK for item in items)
    refused = sum(item["problem"] is not None for item in items)
    counts = {"accepted": len(items) - replayed - refused, "replayed": replayed, "refused": refused}
    return Response(to_json({**counts, "items": items}), media_type="application/json")


_SHOWN = ("id", "name", "state", "reason", "message")


def _item(index: int, outcome: Outcome, request: Request) -> dict[str, Any]:
    """An item as `BulkItemRead` has it; to check 1,000 of our own making once more would take as long as the rest."""
    if isinstance(outcome, AppError):
        problem = problem_of(outcome, request.scope)
        return {"index": index, "status": int(outcome.status), **dict.fromkeys(_SHOWN), "problem": problem}
    status = HTTPStatus.OK if outcome.replayed else HTTPStatus.CREATED
    shown = {name: outcome.row[name] for name in _SHOWN}
    return {"index": index, "status": int(status), **shown, "problem": None}
