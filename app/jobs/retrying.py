"""Running an ended job again. Terminal states never change, so that is a new job, which names the old one."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from app.db import Sessions, away_as_unavailable
from app.errors import JobNotFinished, NotFound
from app.jobs import service, store
from app.jobs.schemas import JobCreate
from app.jobs.service import Accepted, Submission
from app.jobs.states import TERMINAL, JobState
from app.settings import Settings


async def retry(
    sessions: Sessions,
    settings: Settings,
    job_id: UUID,
    team: str | None,
    *,
    submitted_by: str,
    idempotency_key: str | None,
) -> Accepted:
    """Accept a new job with the name and the spec of one that has ended, whatever its end.

    Two retries at once are kept apart by the name, which one live job of a team has, or are one by their key.

    Raises:
        NotFound: there is no such job in `team` (None: any team).
        JobNotFinished: it has not ended.
        AppError: the new job is refused; see `service.submit`.
    """
    with away_as_unavailable():
        async with sessions() as session:
            ended = await store.find(session, job_id, team)
    if ended is None:
        raise NotFound("There is no such job.")
    state = JobState(ended["state"])
    if state not in TERMINAL:
        raise JobNotFinished(f"The job has not ended, it is {state}; cancel it or wait for its end.", state=str(state))
    # nothing can come between: an end is final
    return await service.submit(
        sessions,
        settings,
        Submission(ended["team"], spec_again(ended), idempotency_key, submitted_by, retry_of=job_id),
    )


def spec_again(ended: Mapping[str, Any]) -> JobCreate:
    """What the retry of an ended job runs: the same, where the same runs, as its owner last wanted it. Pure.

    A job that was once in the cluster had waited for the jobs of its `after`; its retry does not wait again, also
    because their history may be gone.
    """
    spec = JobCreate.model_validate(ended["spec"])
    changes: dict[str, Any] = {name: ended[name] for name in ("queue", "priority", "labels")}
    if ended["submitted_at"] is not None:
        changes["after"] = []
    return spec.model_copy(update=changes)
