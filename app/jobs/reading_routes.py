"""HTTP routes that tell of jobs: lists under filters, counts by group, one job, its attempts."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from app.auth.access import Caller
from app.db import now
from app.dependencies import Transaction
from app.errors import InvalidCursor
from app.jobs import dependency_store, grouping, listing, store
from app.jobs.attempts import attempts
from app.jobs.filters import GroupBy, WantedJobs
from app.jobs.routes import found, whole
from app.jobs.views import AttemptRead, JobDetail, JobGroups, JobRead, attempt_read, job_detail, job_groups, job_read
from app.paging import Page, Paged
from app.problems import responses

router = APIRouter(prefix="/v1", tags=["jobs"])

_LAST_ATTEMPT = 2**31 - 1


@router.get("/jobs", responses=responses(InvalidCursor))
async def list_jobs(
    *,
    wanted: WantedJobs,
    page: Paged,
    session: Transaction,
    response: Response,
    sort: Annotated[Literal["created_at", "-created_at"], Query(description="Newest first by default")] = "-created_at",
    group_by: GroupBy = None,
) -> Page[JobRead] | JobGroups:
    """Jobs, newest first unless `sort` says otherwise. Members see their own team's only.

    With `group_by`, how many jobs have each value of a field, under the same filters.
    """
    if group_by is not None:
        return job_groups(group_by, await grouping.count_by(session, wanted, group_by, page.limit))
    rows = await listing.list_jobs(
        session, wanted, newest_first=sort == "-created_at", after=page.after_id(), limit=page.limit + 1
    )
    jobs = [job_read(row) for row in rows]
    return page.page(response, jobs, [str(job.id) for job in jobs])


@router.get("/jobs/{job_id}")
async def read_job(job_id: UUID, caller: Caller, session: Transaction) -> JobDetail:
    """One job, with where it runs, how long it takes and what it used. Another team's job is not found."""
    row = await found(session, job_id, caller)
    links = await dependency_store.read_links(session, job_id) if row["spec"].get("after") else []
    return job_detail(row, await store.read_pods(session, job_id), links, now())


@router.get("/jobs/{job_id}/attempts", responses=responses(InvalidCursor))
async def list_attempts(
    job_id: UUID, caller: Caller, page: Paged, session: Transaction, response: Response
) -> Page[AttemptRead]:
    """How each run of a job went, the first one first, also when its pods are gone."""
    row = await found(session, job_id, caller)
    after = 0 if page.after is None else whole(page.after, _LAST_ATTEMPT)
    every = attempts(row, await store.read_pods(session, job_id), now())
    shown = [attempt_read(one) for one in every if one.attempt > after]
    return page.page(response, shown[: page.limit + 1], [str(one.attempt) for one in shown])
