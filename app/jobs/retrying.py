"""Running an ended job again. Terminal states never change, so that is a new job, which names the old one."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from uuid import UUID

from app.db import Sessions, away_as_unavailable
from app.errors import JobNotFinished, NotFound
from app.jobs import gang, indices, service, store
from app.jobs.indices import Key
from app.jobs.schemas import JobCreate, Task
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
            pods = await indices.newest_pods(session, job_id)
    if ended is None:
        raise NotFound("There is no such job.")
    state = JobState(ended["state"])
    if state not in TERMINAL:
        raise JobNotFinished(f"The job has not ended, it is {state}; cancel it or wait for its end.", state=str(state))
    succeeded = {(pod.task, pod.index) for pod in pods if pod.phase == "Succeeded"}
    # nothing can come between: an end is final
    return await service.submit(
        sessions,
        settings,
        Submission(ended["team"], spec_again(ended, succeeded), idempotency_key, submitted_by, retry_of=job_id),
    )


def spec_again(ended: Mapping[str, Any], succeeded: AbstractSet[Key] = frozenset()) -> JobCreate:
    """What the retry of an ended job runs: the same, where the same runs, as its owner last wanted it. Pure.

    Of arrays only the indices that have not succeeded run again, unless all have. A job that was once in the cluster
    had waited for the jobs of its `after`; its retry does not wait again, also because their history may be gone.

    Args:
        ended: the job's row.
        succeeded: task and index of the pods that succeeded.
    """
    spec = JobCreate.model_validate(ended["spec"])
    changes: dict[str, Any] = {name: ended[name] for name in ("queue", "priority", "labels")}
    if ended["submitted_at"] is not None:
        changes["after"] = []
    return spec.model_copy(update={**changes, **_rest_of_arrays(spec, succeeded)})


def _rest_of_arrays(spec: JobCreate, succeeded: AbstractSet[Key]) -> dict[str, Any]:
    """The fields of a job whose arrays are cut to what has not succeeded; none when there is nothing to cut."""
    left = [_rest(name, task, succeeded) for name, task in zip(gang.task_names(spec), spec.tasks, strict=True)]
    tasks = [task for task in left if task is not None]
    done = gang.replicas(spec) - sum(task.replicas for task in tasks)
    if not done or not tasks:
        return {}
    names = {task.name for task in tasks}
    tasks = [task.model_copy(update={"depends_on": [one for one in task.depends_on if one in names]}) for task in tasks]
    enough = None if spec.min_success is None else max(1, spec.min_success - done)
    return {"tasks": tasks, "min_available": None, "min_success": enough}


def _rest(name: str, task: Task, succeeded: AbstractSet[Key]) -> Task | None:
    if task.array is None:
        return task
    left = [index for index in gang.indices(task) if (name, index) not in succeeded]
    if len(left) == task.replicas:
        return task
    cut = {"array": task.array.model_copy(update={"indices": left}), "replicas": len(left)}
    return task.model_copy(update=cut) if left else None
