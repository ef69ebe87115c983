"""HTTP routes about the indices of a job."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import Field

from app.auth.access import Caller
from app.dependencies import Transaction
from app.errors import InvalidCursor, NotFound
from app.jobs import indices, store
from app.jobs.indices import IndexState
from app.jobs.states import JobState
from app.paging import Page, Paged
from app.problems import responses
from app.schema_base import ResponseBody

_DIGITS = 6
"""More than the number of a job's indices has."""

router = APIRouter(prefix="/v1", tags=["jobs"])


class IndexRead(ResponseBody):
    """One index of a task, whichever pods and attempts it took."""

    task: str
    index: int
    state: str = Field(description="`stopped` is an index of an ended job that had not ended itself")
    attempts: int = Field(description="Pods that it took so far")
    pod: str | None = Field(description="Its newest pod, which the fields below are of")
    node: str | None
    exit_code: int | None
    reason: str | None
    started_at: datetime | None
    ended_at: datetime | None


@router.get("/jobs/{job_id}/indices", responses=responses(InvalidCursor))
async def list_indices(
    *,
    job_id: UUID,
    caller: Caller,
    page: Paged,
    session: Transaction,
    response: Response,
    state: Annotated[list[IndexState] | None, Query(description="Only those in one of these states")] = None,
) -> Page[IndexRead]:
    """What became of each index of an array, or of each replica of a task, in their order."""
    row = await store.find(session, job_id, caller.team)
    if row is None:
        raise NotFound("There is no such job.")
    pods = await indices.newest_pods(session, job_id)
    after, wanted = _after(page.after), frozenset(state or IndexState)
    every = enumerate(indices.views(row["spec"], JobState(row["state"]), pods))
    found = [(place, view) for place, view in every if place > after and view.state in wanted]
    part = found[: page.limit]
    reads = [IndexRead(**asdict(view)) for _, view in part]
    return page.part(response, reads, str(part[-1][0]) if len(found) > page.limit else None)


def _after(key: str | None) -> int:
    """The place of the last item of the page before among all indices, which is the same whatever happens to them."""
    if key is None:
        return -1
    if not (key.isascii() and key.isdigit() and len(key) < _DIGITS):
        raise InvalidCursor("The cursor is not one that this list gave out.")
    return int(key)
