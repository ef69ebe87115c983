"""`pumice api` and `pumice controller` as real processes, killed at every failpoint and started again.

All failpoints are reached: the two of accepting in the API, two of cancelling by a cancelled job, and the others on a
job's way to its end. A job that stays is there all the while, so that the quota's usage is a number to be recounted.
"""

from collections.abc import Callable
from uuid import UUID

import pytest

from app import failpoints
from app.jobs.transitions import jobs
from tests.crash.clusters import FOR_EVER
from tests.crash.processes import Service
from tests.crash.verdict import Trial
from tests.crash.world import GPU

pytestmark = pytest.mark.timeout(300)

MakeTrial = Callable[[str, str], Trial]
OF_THE_API = (failpoints.ACCEPT_BEFORE_COMMIT, failpoints.ACCEPT_COMMITTED)
WHILE_CANCELLING = (failpoints.CANCEL_COMMANDED, failpoints.CANCEL_RECORDED)
TO_THE_END = tuple(name for name in failpoints.ALL if name not in {*OF_THE_API, *WHILE_CANCELLING, *failpoints.OF_RUNS})


async def _both_once(service: Service, trial: Trial, job_id: UUID, bystander: UUID, state: str) -> None:
    """The job has ended once and left nothing; the other runs on; the books agree."""
    await trial.holds({job_id: {state}, bystander: {"running"}})
    world = service.world
    after = await world.row(job_id)
    assert (after.attempt, after.recorded_at is not None) == (1, True)
    assert (after.lock_token, after.lock_expires_at, after.due_at) == (None, None, None)
    assert (await world.row(bystander)).attempt == 1
    assert (await world.usage())[GPU] == 2


def test_every_failpoint_kills_some_process() -> None:
    ours = (*OF_THE_API, *TO_THE_END, *WHILE_CANCELLING)
    assert sorted((*ours, *failpoints.OF_RUNS)) == sorted(failpoints.ALL)


@pytest.mark.parametrize("name", OF_THE_API)
async def test_an_api_killed_while_it_accepts_is_asked_again_and_the_job_runs_once(
    service: Service, trial: MakeTrial, name: str
) -> None:
    made, world = trial(f"kill -9 at {name}", "API killed, started again, asked again with the same key"), service.world
    await service.controller()
    api = await service.api(failpoint=name)
    assert await service.submit("job", 1, replicas=2) is None
    await api.dies()
    accepted = [row.id for row in await world.rows(jobs)]
    assert len(accepted) == (0 if name == failpoints.ACCEPT_BEFORE_COMMIT else 1)
    await service.api()
    job_id = await service.submit("job", 1, replicas=2)
    assert job_id is not None
    assert accepted in ([], [job_id])
    bystander = await _bystander(service)
    await _both_once(service, made, job_id, bystander, "succeeded")


@pytest.mark.parametrize("name", TO_THE_END)
async def test_a_controller_killed_on_the_way_runs_each_job_once(service: Service, trial: MakeTrial, name: str) -> None:
    made = trial(f"kill -9 at {name}", "controller killed on a job's way to its end, another started")
    first = await service.controller(failpoint=name)
    await service.api()
    bystander = await _bystander(service)
    job_id = await service.submit("job", 1, replicas=2)
    assert job_id is not None
    await first.dies()
    await service.controller()
    await _both_once(service, made, job_id, bystander, "succeeded")
    pods = [(pod.phase, pod.exit_code) for pod in await service.world.pods() if pod.job_id == job_id]
    assert pods == [("Succeeded", 0)] * 2


@pytest.mark.parametrize("name", WHILE_CANCELLING)
async def test_a_controller_killed_while_it_cancels_cancels_once(service: Service, trial: MakeTrial, name: str) -> None:
    made, world = (
        trial(f"kill -9 at {name}", "controller killed while a job is cancelled, another started"),
        service.world,
    )
    first = await service.controller(failpoint=name)
    await service.api()
    bystander = await _bystander(service)
    job_id = await service.submit("job", FOR_EVER, replicas=2)
    assert job_id is not None
    await world.until_state(job_id, "running")
    await service.cancel(job_id)
    await first.dies()
    await service.controller()
    await _both_once(service, made, job_id, bystander, "cancelled")


async def test_the_other_of_two_controllers_takes_over_from_a_leader_that_is_killed(
    service: Service, trial: MakeTrial
) -> None:
    made, world = trial("kill -9 of the leader", "two controllers, a job running meanwhile"), service.world
    controllers = [await service.controller() for _ in range(2)]
    await service.api()
    leader, other = await service.leader_first(controllers)
    bystander = await _bystander(service)
    job_id = await service.submit("job", 6, replicas=2)
    assert job_id is not None
    await world.until_state(job_id, "running", "succeeded")
    epoch = await service.epoch()
    await leader.kill()
    await _both_once(service, made, job_id, bystander, "succeeded")
    assert await service.leads(other)
    assert await service.epoch() > epoch


async def test_a_leader_that_slept_through_its_lease_does_no_harm_when_it_wakes(
    service: Service, trial: MakeTrial
) -> None:
    made, world = (
        trial("SIGSTOP of the leader", "two controllers, thawed after the other has ended a job"),
        service.world,
    )
    controllers = [await service.controller() for _ in range(2)]
    await service.api()
    leader, other = await service.leader_first(controllers)
    bystander = await _bystander(service)
    await world.until_state(bystander, "running")
    epoch = await service.epoch()
    leader.freeze()
    try:
        job_id = await service.submit("job", 1, replicas=2)
        assert job_id is not None
        await world.until_state(job_id, "succeeded")
    finally:
        leader.thaw()
    assert await service.leader_first(controllers) == [other, leader]
    await _both_once(service, made, job_id, bystander, "succeeded")
    assert await service.epoch() > epoch


async def _bystander(service: Service) -> UUID:
    job_id = await service.submit("bystander", FOR_EVER, replicas=2)
    assert job_id is not None
    return job_id
