"""The HTTP route that takes Volcano Jobs as people have them."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from app.auth.access import TeamSubmitter
from app.dependencies import AppSettings, SessionMaker
from app.errors import InvalidYaml
from app.jobs import answers
from app.jobs.answers import IdempotencyKey
from app.jobs.bulk_schemas import BulkRead
from app.jobs.importing import service
from app.jobs.importing.documents import JSON, YAML
from app.jobs.importing.service import Sent
from app.jobs.service import Accepted
from app.jobs.views import JobRead
from app.problems import responses

router = APIRouter(prefix="/v1", tags=["jobs"])

_MANIFEST = {
    "type": "object",
    "description": "A Volcano Job (`batch.volcano.sh/v1alpha1`); an array or a `List` of them is taken as well",
    "additionalProperties": True,
}
_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        JSON: {"schema": _MANIFEST},
        YAML[0]: {"schema": {"type": "string", "description": "One document or several"}},
    },
}


@router.post(
    "/teams/{team}/jobs/import",
    status_code=HTTPStatus.CREATED,
    response_model=JobRead,
    responses={
        200: {
            **answers.REPLAYED,
            "model": JobRead | BulkRead,
            "description": "Each document's outcome, for a list or several documents; or the job that an earlier "
            "request with the same key and document made",
        },
        201: answers.WITH_LOCATION,
        **answers.REFUSALS,
        **responses(InvalidYaml),
    },
    openapi_extra={"requestBody": _BODY},
)
async def import_jobs(
    *,
    team: str,
    caller: TeamSubmitter,
    request: Request,
    response: Response,
    settings: AppSettings,
    sessions: SessionMaker,
    idempotency_key: IdempotencyKey = None,
) -> JobRead | Response:
    """Accept Volcano Jobs as YAML or JSON. What cannot be kept is refused with its place, never dropped.

    One document is answered as a submission is. A list, a `List` or several YAML documents are answered as a bulk
    submission is; with an `Idempotency-Key` each document has `<key>/<place from 0>`.
    """
    sent = Sent(await request.body(), request.headers.get("content-type", ""), idempotency_key)
    made = await service.import_jobs(sessions, settings, team, caller.subject, sent)
    return answers.of_one(made, request, response) if isinstance(made, Accepted) else answers.of_many(made, request)
