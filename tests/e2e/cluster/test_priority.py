"""Priorities order the jobs that wait in one queue."""

from collections.abc import Awaitable, Callable

from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_of_two_waiting_jobs_the_one_of_high_priority_goes_first(world: World, team: MakeTeam) -> None:
    world.needs(2)
    ordered = await team("ordered", capability=2)
    first = await ordered.submit("first", pods=2, seconds=3600)
    await ordered.until_state(first, "running")
    low = await ordered.submit("low", pods=2, seconds=3, priority="low")
    await ordered.waits(low)
    high = await ordered.submit("high", pods=2, seconds=3, priority="high")
    await ordered.waits(high)
    volcano_jobs = [await ordered.volcano_job(job_id) for job_id in (low, high)]
    classes = [volcano_job and volcano_job["spec"]["priorityClassName"] for volcano_job in volcano_jobs]
    assert classes == [world.priorities["low"], world.priorities["high"]]
    await ordered.cancel(first)
    await ordered.until_state(high, "succeeded")
    await ordered.until_state(low, "succeeded")
    ends = [pod["ended_at"] for pod in await ordered.pods(high)]
    assert max(ends) <= min(pod["created_at"] for pod in await ordered.pods(low))
