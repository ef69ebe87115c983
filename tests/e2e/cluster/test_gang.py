"""All of a gang or nothing of it, and a queue that is full and is released again."""

from collections.abc import Awaitable, Callable

from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_a_gang_that_does_not_fit_takes_nothing_until_all_of_it_fits(world: World, team: MakeTeam) -> None:
    world.needs(4)
    gang = await team("gang", capability=4)
    first = await gang.submit("first", pods=3, seconds=3600)
    await gang.until_state(first, "running")
    await gang.until_allocated(3)
    second = await gang.submit("second", pods=2, min_available=2)
    waiting = await gang.waits(second)
    assert waiting["reason"] in {"WaitingForQueue", "Unschedulable"}
    # a smaller one that came later has run, so Volcano has decided about the gang several times
    third = await gang.submit("third", pods=1, seconds=1)
    await gang.until_state(third, "succeeded")
    still = await gang.job(second)
    assert (still["state"], still["counts"]["running"], still["started_at"]) == ("pending", 0, None)
    assert all(not pod["spec"].get("nodeName") for pod in await gang.pods_there(second))
    await gang.cancel(first)
    ended = await gang.until_state(second, "succeeded")
    assert (ended["counts"], ended["attempt"]) == ({"pending": 0, "running": 0, "succeeded": 2, "failed": 0}, 1)
    assert world.witness.peaks[gang.name] <= 4


async def test_a_job_waits_for_a_full_queue_and_starts_by_itself_when_there_is_room(
    world: World, team: MakeTeam
) -> None:
    world.needs(2)
    full = await team("full", capability=2)
    first = await full.submit("first", pods=2, seconds=6)
    await full.until_state(first, "running")
    second = await full.submit("second", pods=2)
    assert (await full.waits(second))["reason"] in {"WaitingForQueue", "Unschedulable"}
    await full.until_state(first, "succeeded")
    await full.until_state(second, "succeeded")
    assert world.witness.peaks[full.name] == 2
    ends = [pod["ended_at"] for pod in await full.pods(first)]
    assert max(ends) <= min(pod["created_at"] for pod in await full.pods(second))
