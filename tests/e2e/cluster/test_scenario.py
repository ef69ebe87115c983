"""The scenario of the mission: two queues, and jobs of both that want more than there is."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]
_SECONDS = 6


async def test_high_priority_goes_first_and_low_priority_starts_by_itself(world: World, team: MakeTeam) -> None:
    world.needs(3)
    scale = 2 if world.shape.units >= 6 else 1
    high = await team("high-priority", capability=2 * scale, weight=2)
    low = await team("low-priority", capability=scale, weight=1)
    for each in (low, high):
        await each.until_queue(lambda seen: seen["state"] == "Open")

    low_a = await low.submit("low-a", pods=scale, seconds=_SECONDS)
    low_b = await low.submit("low-b", pods=scale, seconds=_SECONDS)
    high_a = await high.submit("high-a", pods=2 * scale, seconds=_SECONDS)
    high_b = await high.submit("high-b", pods=scale, seconds=_SECONDS)
    await high.until_state(high_a, "running")
    waiting = await low.until(low_b, lambda job: job["reason"] is not None)
    assert waiting["state"] in {"held", "pending"}
    await low.until_allocated(scale)

    jobs = ((low, low_a), (low, low_b), (high, high_a), (high, high_b))
    for each, job_id in jobs:
        await each.until_state(job_id, "succeeded")
    pods = {job_id: await each.pods(job_id) for each, job_id in jobs}
    assert [len(pods[job_id]) for _, job_id in jobs] == [scale, scale, 2 * scale, scale]
    assert {pod["node"] for found in pods.values() for pod in found} <= set(world.shape.nodes)
    # pods are made once there is room, so low-b's are younger than the end of low-a's and all of high-a's
    assert _times(pods[low_a], "ended_at")[-1] <= _times(pods[low_b], "created_at")[0]
    assert _times(pods[high_a], "created_at")[-1] < _times(pods[low_b], "created_at")[0]
    assert _times(pods[high_a], "created_at")[-1] < _times(pods[high_b], "created_at")[0]
    assert (world.witness.peaks[high.name], world.witness.peaks[low.name]) == (2 * scale, scale)
    for each in (high, low):
        await each.until_allocated(0)


def _times(pods: list[Any], field: str) -> list[datetime]:
    return sorted(datetime.fromisoformat(pod[field]) for pod in pods)
