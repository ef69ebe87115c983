"""Routes of teams and their quotas."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from app import problems
from app.auth.access import Admin, Caller, TeamViewer
from app.dependencies import Reading, Transaction
from app.errors import NameInUse, PreconditionFailed, PreconditionRequired
from app.paging import Page, Paged
from app.preconditions import etag_of
from app.teams import service, store
from app.teams.schemas import QuotaPut, QuotaRead, TeamCreate, TeamPatch, TeamRead
from app.teams.store import Team

router = APIRouter(prefix="/v1/teams", tags=["teams"])

IfMatch = Annotated[str | None, Header(max_length=1024, description="ETag of the version that the change is about")]


@router.post("", status_code=HTTPStatus.CREATED, responses=problems.responses(NameInUse))
async def create_team(
    body: TeamCreate, admin: Admin, session: Transaction, request: Request, response: Response
) -> TeamRead:
    """Make a team: its namespace, the queues that it may use, and which of them is the default."""
    team = await service.create_team(session, body)
    response.headers["Location"] = problems.location(request, f"/v1/teams/{team.name}")
    return _read(team)


@router.get("")
async def list_teams(caller: Caller, session: Reading, paged: Paged, response: Response) -> Page[TeamRead]:
    """List teams by name. Members see their own team."""
    teams = await store.list_teams(session, caller.team, paged.after, paged.limit + 1)
    return paged.page(response, [_read(team) for team in teams], [team.name for team in teams])


@router.get("/{team}")
async def get_team(team: str, caller: TeamViewer, session: Reading) -> TeamRead:
    """Read a team."""
    return _read(await service.get_team(session, team))


@router.patch("/{team}")
async def change_team(team: str, body: TeamPatch, admin: Admin, session: Transaction) -> TeamRead:
    """Change which queues a team may use. Jobs that were accepted before stay in their queues."""
    return _read(await service.change_team(session, team, body))


@router.get("/{team}/quota")
async def get_quota(team: str, caller: TeamViewer, session: Reading, response: Response) -> QuotaRead:
    """Read a team's quota with what is in use and what is left. The ETag names its version."""
    quota, version = await service.get_quota(session, team)
    response.headers["ETag"] = etag_of(version)
    return quota


@router.put("/{team}/quota", responses=problems.responses(PreconditionFailed, PreconditionRequired))
async def put_quota(
    *, team: str, body: QuotaPut, admin: Admin, session: Transaction, response: Response, if_match: IfMatch = None
) -> QuotaRead:
    """Replace a team's quota. From the second time on, If-Match must name the version that was read."""
    quota, version = await service.put_quota(session, admin, team, body, if_match)
    response.headers["ETag"] = etag_of(version)
    return quota


def _read(team: Team) -> TeamRead:
    return TeamRead(
        name=team.name,
        namespace=team.namespace,
        queues=list(team.queues),
        default_queue=team.default_queue,
        created_at=team.created_at,
        updated_at=team.updated_at,
    )
