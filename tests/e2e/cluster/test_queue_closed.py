"""A queue that an operator closes in Volcano, and opens again."""

from collections.abc import Awaitable, Callable

from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_jobs_of_a_closed_queue_wait_with_the_reason_and_go_on_when_it_opens(
    world: World, team: MakeTeam
) -> None:
    world.needs(1)
    closing = await team("closing", capability=1)
    running = await closing.submit("running", seconds=8)
    await closing.until_state(running, "running")
    waiting = await closing.submit("waiting", seconds=1)
    await closing.waits(waiting)
    await closing.command_queue("CloseQueue")
    await closing.until_queue(lambda seen: seen["state"] in {"Closing", "Closed"})
    refused = await closing.refused("late")
    assert refused[:2] == (409, "queue-not-open")
    await closing.until(waiting, lambda job: job["state"] == "pending" and job["reason"] == "QueueNotOpen")
    await closing.until_state(running, "succeeded")
    await closing.until_allocated(0)
    told = await closing.until(waiting, lambda job: job["reason"] == "QueueNotOpen")
    assert (told["state"], told["started_at"]) == ("pending", None)
    await closing.command_queue("OpenQueue")
    await closing.until_queue(lambda seen: seen["state"] == "Open")
    await closing.until_state(waiting, "succeeded")
    late = await closing.submit("late", seconds=1)
    await closing.until_state(late, "succeeded")
