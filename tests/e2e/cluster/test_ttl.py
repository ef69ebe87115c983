"""Volcano's own collection of finished jobs, by ttlSecondsAfterFinished, while the service is not looking."""

from app.cluster.names import RECORDED_FINALIZER
from tests.e2e.cluster.service import TTL_SECONDS
from tests.e2e.cluster.world import Team


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
