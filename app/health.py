"""Whether the process lives, whether it can serve, and its metrics. No token is needed."""

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import AwareDatetime, Field
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from app.controller.models import LeaseRow
from app.db import is_away, is_unreachable, sqlstate, table
from app.dependencies import SessionMaker
from app.migrate import head_revision, known_revisions
from app.schema_base import ResponseBody
from app.telemetry import REGISTRY

CONTROLLER = "controller"
"""Name of the lease that the controller's leader holds."""

router = APIRouter(tags=["health"])
controller_router = APIRouter(tags=["health"])
metrics_router = APIRouter(tags=["health"])

leases = table(LeaseRow)
_UNDEFINED_TABLE = "42P01"
_USABLE = frozenset({"ok", "newer"})


class Alive(ResponseBody):
    """The event loop turns."""

    status: str = "ok"


class ControllerPart(ResponseBody):
    """What the controller's leader last said of itself. Watches go by kind: synced, and seconds since the last word.

    `missing_rights` says in a sentence each what its account may not do in the cluster, though the service needs it.
    """

    leading: bool
    lease_expires_at: AwareDatetime | None = None
    watches: dict[str, Any] = Field(default_factory=dict)
    cluster: str = "unknown"
    missing_rights: list[str] = Field(default_factory=list)


class Readiness(ResponseBody):
    """What the API needs, and what is missing of it. The controller is shown, but is not needed."""

    ready: bool
    missing: list[str]
    database: str
    migrations: str
    controller: ControllerPart | None = None


@router.get("/healthz")
async def healthz() -> Alive:
    """Answer as long as the event loop turns; nothing else is looked at, so a restart never makes an outage worse."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness, "description": "Something is missing"}})
async def readyz(sessions: SessionMaker, response: Response) -> Readiness:
    """Say whether this process can serve: the database answers and has this release's schema.

    The controller and the cluster are shown as parts but do not make the API unready: without them it still accepts,
    lists and cancels jobs, and everything goes on by itself when they are back.
    """
    return _answered(await _readiness(sessions), response)


@controller_router.get("/readyz")
async def controller_readyz(sessions: SessionMaker, response: Response) -> Readiness:
    """Say whether the leader can do its work: what the API needs, every watch, and every right in the cluster."""
    readiness = await _readiness(sessions)
    missing = [*readiness.missing, *_missing_of_the_cluster(readiness.controller)]
    return _answered(readiness.model_copy(update={"ready": not missing, "missing": missing}), response)


@metrics_router.get("/metrics", response_class=Response)
async def metrics() -> Response:
    """Metrics in Prometheus' text format."""
    return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)


def _missing_of_the_cluster(controller: ControllerPart | None) -> list[str]:
    if controller is None or not controller.leading:
        return []
    watches = [] if all(watch["synced"] for watch in controller.watches.values()) else ["watches"]
    return [*watches, "rights"] if controller.missing_rights else watches


def _answered(readiness: Readiness, response: Response) -> Readiness:
    if not readiness.ready:
        response.status_code = 503
        response.headers["Retry-After"] = "5"
    return readiness


async def _readiness(sessions: SessionMaker) -> Readiness:
    try:
        async with sessions() as session:
            revision = await _revision(session)
            migrations = _migrations(revision)
            controller = await _controller(session) if migrations in _USABLE else None
            missing = [] if controller else ["migrations"]
            return Readiness(
                ready=not missing, missing=missing, database="ok", migrations=migrations, controller=controller
            )
    except Exception as error:
        if not is_away(error):
            raise
        database = "unreachable" if is_unreachable(error) else f"refuses us with SQLSTATE {sqlstate(error)}"
        return Readiness(ready=False, missing=["database"], database=database, migrations="unknown")


def _migrations(revision: str | None) -> str:
    """How far the schema is. One of a later release will do: in an upgrade old and new processes run side by side."""
    if revision is None:
        return "none"
    if revision not in known_revisions():
        return "newer"
    return "ok" if revision == head_revision() else f"at {revision}"


async def _revision(session: AsyncSession) -> str | None:
    try:
        revision: str | None = (
            await session.execute(text("SELECT version_num FROM alembic_version"))
        ).scalar_one_or_none()
    except DBAPIError as error:
        if sqlstate(error) == _UNDEFINED_TABLE:
            return None
        raise
    return revision


async def _controller(session: AsyncSession) -> ControllerPart:
    query = select(leases, (leases.c.expires_at > func.now()).label("leading"))
    lease = (await session.execute(query.where(leases.c.name == CONTROLLER))).one_or_none()
    if lease is None:
        return ControllerPart(leading=False)
    return ControllerPart(
        leading=lease.leading,
        lease_expires_at=lease.expires_at,
        watches=lease.status.get("watches", {}),
        cluster=lease.status.get("cluster", "unknown"),
        missing_rights=lease.status.get("missing_rights", []),
    )
