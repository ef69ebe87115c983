"""A controller that is killed in the middle of its work."""

from collections.abc import Awaitable, Callable

from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_a_killed_controller_runs_each_job_once_when_it_is_back(world: World, team: MakeTeam) -> None:
    world.needs(2)
    crashing = await team("crashing", capability=2)
    jobs = [await crashing.submit(f"job-{number}", seconds=4) for number in range(4)]
    await crashing.until_state(jobs[0], "running")
    await world.service.kill_controller()
    jobs += [await crashing.submit(f"job-{number}", seconds=1) for number in range(4, 6)]
    await world.service.start_controller()
    for job in jobs:
        ended = await crashing.until_state(job, "succeeded")
        assert (ended["attempt"], len(await crashing.pods(job))) == (1, 1)
        assert len(world.witness.uids[job]) == 1
