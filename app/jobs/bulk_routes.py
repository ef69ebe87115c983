"""HTTP routes that take many jobs at once."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.auth.access import TeamSubmitter
from app.dependencies import AppSettings, SessionMaker
from app.jobs import answers, bulk
from app.jobs.bulk_schemas import BulkCreate, BulkRead

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
    return answers.of_many(outcomes, request)
