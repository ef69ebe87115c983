"""The HTTP route by which workers say how far they are."""

from uuid import UUID

from fastapi import APIRouter

from app.auth.access import Caller
from app.auth.principal import Role
from app.dependencies import SessionMaker
from app.errors import Conflict, JobFinished, ValidationError
from app.jobs import progress
from app.jobs.progress_schemas import ProgressWrite
from app.jobs.views import Progress
from app.problems import responses

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.put("/jobs/{job_id}/progress", responses=responses(Conflict, JobFinished, ValidationError))
async def write_progress(job_id: UUID, body: ProgressWrite, caller: Caller, sessions: SessionMaker) -> Progress:
    """Say how far the worker of one pod is, and read what counts. The job shows the sum about a second later.

    The last word counts; send it as often as you like, a word a second is plenty. Of a pod that has ended, what is less
    than it said before is ignored.
    """
    caller.require(Role.SUBMITTER)
    return Progress(**await progress.write(sessions, job_id, caller.team, body))
