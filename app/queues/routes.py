"""Routes of queues."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from app import problems
from app.auth.access import Admin, Caller
from app.dependencies import Reading, Transaction
from app.errors import NameInUse
from app.paging import Page, Paged
from app.queues import service, store
from app.queues.models import QueueRow
from app.queues.schemas import QueueCreate, QueueObserved, QueuePatch, QueueRead

router = APIRouter(prefix="/v1/queues", tags=["queues"])

_UNSEEN: dict[str, Any] = {"state": "Unknown", "allocated": {}, "pod_groups": {}, "drift": {}}


@router.post("", status_code=HTTPStatus.CREATED, responses=problems.responses(NameInUse))
async def create_queue(
    body: QueueCreate, admin: Admin, session: Transaction, request: Request, response: Response
) -> QueueRead:
    """Make a queue. The controller creates it in Volcano; `observed` tells when it is there."""
    row = await service.create_queue(session, body)
    response.headers["Location"] = problems.location(request, f"/v1/queues/{row.name}")
    return _read(row)


@router.get("")
async def list_queues(caller: Caller, session: Reading, paged: Paged, response: Response) -> Page[QueueRead]:
    """List queues by name: all for admins, those granted to the own team for members."""
    rows = await store.list_queues(session, caller.team, paged.after, paged.limit + 1)
    return paged.page(response, [_read(row) for row in rows], [row.name for row in rows])


@router.get("/{queue}")
async def get_queue(queue: str, caller: Caller, session: Reading) -> QueueRead:
    """Read a queue: what is wanted, and what was last seen in the cluster."""
    return _read(await service.get_queue(session, caller, queue))


@router.patch("/{queue}")
async def change_queue(queue: str, body: QueuePatch, admin: Admin, session: Transaction) -> QueueRead:
    """Change a queue. The controller carries the change to Volcano."""
    return _read(await service.change_queue(session, queue, body))


def _read(row: QueueRow) -> QueueRead:
    seen = row.observed is not None and row.observed_at is not None
    observed = (
        QueueObserved.model_validate({**_UNSEEN, **(row.observed or {}), "as_of": row.observed_at}) if seen else None
    )
    wanted = row.model_dump(exclude={"observed", "observed_at"})
    return QueueRead(**wanted, observed=observed)
