"""What becomes of finished jobs: the cluster forgets them, the service does not."""

from collections.abc import Awaitable, Callable

from app.cluster.names import RECORDED_FINALIZER
from tests.e2e.cluster.service import TTL_SECONDS
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


async def test_a_job_that_volcano_collects_while_the_controller_is_away_is_recorded_all_the_same(
    abandoned: tuple[Team, str],
) -> None:
    collected, job = abandoned
    service = collected.world.service

    async def deleted_but_held() -> bool:
        found = await collected.volcano_job(job)
        assert found is not None, "nothing held the Volcano Job"
        assert found["spec"]["ttlSecondsAfterFinished"] == TTL_SECONDS
        metadata = found["metadata"]
        return "deletionTimestamp" in metadata and metadata.get("finalizers") == [RECORDED_FINALIZER]

    await collected.until_seen(job, deleted_but_held)
    assert (await collected.job(job))["ended_at"] is None
    await service.start_controller()
    ended = await collected.until_state(job, "succeeded")
    assert ended["counts"]["succeeded"] == 1
    await collected.until_gone(job)
