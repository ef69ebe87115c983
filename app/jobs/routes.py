"""HTTP routes about jobs."""

from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter, Request, Response

from app.auth.access import Caller, TeamSubmitter
from app.auth.principal import Role
from app.dependencies import AppSettings, SessionMaker, Transaction
from app.errors import Conflict, InvalidCursor, JobFinished, JobNotFinished, NotFound, ValidationError
from app.jobs import answers, cancellation, changing, retrying, service, store, suspension
from app.jobs.answers import IdempotencyKey
from app.jobs.schemas import CancelRequest, JobCreate, JobPatch
from app.jobs.service import Submission
from app.jobs.views import JobRead, PodRead, job_read, pod_read
from app.paging import Page, Paged
from app.problems import responses

router = APIRouter(prefix="/v1", tags=["jobs"])

_NO_REASON = CancelRequest()
"""A default and not `| None`: clients made by generators fail on a body that is left out and may be null."""


@router.post(
    "/teams/{team}/jobs",
    status_code=HTTPStatus.CREATED,
    responses={200: answers.REPLAYED, 201: answers.WITH_LOCATION, **answers.REFUSALS},
)
async def submit_job(
    *,
    team: str,
    body: JobCreate,
    caller: TeamSubmitter,
    request: Request,
    response: Response,
    settings: AppSettings,
    sessions: SessionMaker,
    idempotency_key: IdempotencyKey = None,
) -> JobRead:
    """Accept a job. It is committed when this answers, and runs once even if everything crashes right after."""
    accepted = await service.submit(sessions, settings, Submission(team, body, idempotency_key, caller.subject))
    return answers.of_one(accepted, request, response)


@router.patch("/jobs/{job_id}", responses=responses(Conflict, JobFinished, ValidationError))
async def change_job(
    job_id: UUID, body: JobPatch, caller: Caller, sessions: SessionMaker, settings: AppSettings
) -> JobRead:
    """Change the priority or the labels of a job that has not ended.

    A job that waits here takes its new place at once. A Volcano Job is brought in line, and with it the order in which
    its queue is served; pods that exist, or that it makes later, keep the labels of the submission.
    """
    caller.require(Role.SUBMITTER)
    return job_read(await changing.change(sessions, settings, job_id, caller.team, body))


async def found(session: Transaction, job_id: UUID, caller: Caller) -> store.Row:
    """The row of a job that the caller may see."""
    row = await store.find(session, job_id, caller.team)
    if row is None:
        raise NotFound("There is no such job.")
    return row


@router.get("/jobs/{job_id}/pods", responses=responses(InvalidCursor))
async def list_pods(
    job_id: UUID, caller: Caller, page: Paged, session: Transaction, response: Response
) -> Page[PodRead]:
    """The pods of every attempt of a job, gone or not, by attempt and name."""
    await found(session, job_id, caller)
    rows = await store.list_pods(session, job_id, after=_pod_key(page.after), limit=page.limit + 1)
    pods = [pod_read(row) for row in rows]
    return page.page(response, pods, [f"{pod.attempt}/{pod.name}/{pod.uid}" for pod in pods])


def _pod_key(key: str | None) -> tuple[int, str, str] | None:
    if key is None:
        return None
    attempt, _, rest = key.partition("/")
    name, _, uid = rest.partition("/")
    return whole(attempt, 2**31 - 1), name, uid


def whole(key: str, most: int) -> int:
    """The whole number that a cursor holds."""
    if not (key.isascii() and key.isdigit() and len(key) < 20 and int(key) <= most):  # noqa: PLR2004 - digits of 2^63
        raise InvalidCursor("The cursor is not one that this list gave out.")
    return int(key)


@router.post("/jobs/{job_id}/cancel", status_code=HTTPStatus.ACCEPTED, responses=responses(JobFinished))
async def cancel_job(job_id: UUID, caller: Caller, sessions: SessionMaker, body: CancelRequest = _NO_REASON) -> JobRead:
    """Cancel a job. Repeated calls change nothing more; a job that has ended is a conflict."""
    caller.require(Role.SUBMITTER)
    return job_read(await cancellation.cancel(sessions, job_id, caller.team, body.reason))


@router.post("/jobs/{job_id}/suspend", status_code=HTTPStatus.ACCEPTED, responses=responses(Conflict, JobFinished))
async def suspend_job(job_id: UUID, caller: Caller, sessions: SessionMaker) -> JobRead:
    """Stop a job for now and give its GPUs and its quota back; what it has finished stays finished."""
    caller.require(Role.SUBMITTER)
    return job_read(await suspension.suspend(sessions, job_id, caller.team))


@router.post("/jobs/{job_id}/resume", status_code=HTTPStatus.ACCEPTED, responses=responses(Conflict, JobFinished))
async def resume_job(job_id: UUID, caller: Caller, sessions: SessionMaker) -> JobRead:
    """Let a suspended job go on, once its team's quota has room; no retry is used up."""
    caller.require(Role.SUBMITTER)
    return job_read(await suspension.resume(sessions, job_id, caller.team))


@router.post(
    "/jobs/{job_id}/retry",
    status_code=HTTPStatus.ACCEPTED,
    responses={
        200: answers.REPLAYED,
        202: answers.WITH_LOCATION,
        **responses(*answers.REFUSED, JobNotFinished),
    },
)
async def retry_job(
    *,
    job_id: UUID,
    caller: Caller,
    request: Request,
    response: Response,
    settings: AppSettings,
    sessions: SessionMaker,
    idempotency_key: IdempotencyKey = None,
) -> JobRead:
    """Run a job that has ended once more, as a new job with `retry_of`; what has ended stays as it is.

    The new job is accepted as any other, by quota and name. It waits for no other job if the old one had begun.
    """
    caller.require(Role.SUBMITTER)
    accepted = await retrying.retry(
        sessions, settings, job_id, caller.team, submitted_by=caller.subject, idempotency_key=idempotency_key
    )
    return answers.of_one(accepted, request, response)
