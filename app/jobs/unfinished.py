"""Finding a job of which something is still to be asked."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import JobFinished, NotFound
from app.jobs import store
from app.jobs.states import TERMINAL, JobState
from app.jobs.store import Row


async def find_unfinished(session: AsyncSession, job_id: UUID, team: str | None, *, lock: bool = True) -> Row:
    """A job that has not ended.

    Args:
        session: the caller's transaction.
        job_id: of the job.
        team: of the caller; None is any.
        lock: hold the row until the transaction ends, and read the controller's columns too.

    Raises:
        NotFound: there is no such job in `team`.
        JobFinished: the job has ended.
    """
    row = await store.find(session, job_id, team, lock=lock)
    if row is None:
        raise NotFound("There is no such job.")
    state = JobState(row["state"])
    if state in TERMINAL:
        raise JobFinished(f"The job has ended already; it is {state}.", state=str(state))
    return row
