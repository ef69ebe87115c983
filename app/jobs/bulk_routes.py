"""HTTP routes that take many jobs at once."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.auth.access import TeamSubmitter
from app.dependencies import AppSettings, SessionMaker
from app.errors import AppError
from app.jobs import bulk
from app.jobs.bulk_schemas import BulkCreate, BulkItemRead, BulkRead
from app.problems import problem_of

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.post("/teams/{team}/jobs/bulk", response_model=BulkRead)
async def submit_bulk(
    *,
    team: str,
    body: BulkCreate,
    caller: TeamSubmitter,
    request: Request,
    settings: AppSettings,
    sessions: SessionMaker,
) -> Response:
    """Accept up to 1,000 jobs in one transaction, and answer for each.

    Jobs are decided in the order of the request; one that is refused is no reason to refuse another. With an
    `idempotency_key` in each, the whole request may be repeated until it is answered.
    """
    outcomes = await bulk.submit_many(sessions, settings, team, caller.subject, body.jobs)
    items = [_item(index, outcome, request) for index, outcome in enumerate(outcomes)]
    replayed = sum(item.status == HTTPStatus.OK for item in items)
    refused = sum(item.problem is not None for item in items)
    answer = BulkRead(accepted=len(items) - replayed - refused, replayed=replayed, refused=refused, items=items)
    # written here, as checking 1,000 items of our own making once more would cost as much as accepting them
    return Response(answer.model_dump_json(), media_type="application/json")


def _item(index: int, outcome: bulk.Outcome, request: Request) -> BulkItemRead:
    if isinstance(outcome, AppError):
        nothing: dict[str, Any] = dict.fromkeys(("id", "name", "state", "reason", "message"))
        return BulkItemRead(
            index=index, status=int(outcome.status), problem=problem_of(outcome, request.scope), **nothing
        )
    status = HTTPStatus.OK if outcome.replayed else HTTPStatus.CREATED
    shown = {name: outcome.row[name] for name in ("id", "name", "state", "reason", "message")}
    return BulkItemRead.model_construct(index=index, status=int(status), problem=None, **shown)
