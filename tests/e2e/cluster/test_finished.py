"""What becomes of finished jobs: the cluster forgets them, the service does not."""

from collections.abc import Awaitable, Callable

from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_a_finished_job_leaves_the_cluster_after_its_retention_and_its_history_stays(
    world: World, team: MakeTeam
) -> None:
    world.needs(1)
    kept = await team("kept", capability=1)
    job = await kept.submit("job", seconds=1)
    ended = await kept.until_state(job, "succeeded")
    await kept.until_gone(job)
    assert await kept.job(job) == ended
    (pod,) = await kept.pods(job)
    assert (pod["phase"], pod["exit_code"]) == ("Succeeded", 0)
    history = await kept.history(job)
    assert (history[0], history[-1]) == ("held", "succeeded")
