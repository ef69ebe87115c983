"""Jobs that are larger than their queue, or than any node."""

from collections.abc import Awaitable, Callable

from app import quantity
from app.cluster.kinds import QUEUE
from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_a_gang_above_its_queue_s_capability_is_refused_with_the_numbers(world: World, team: MakeTeam) -> None:
    small = await team("small", capability=2)
    status, kind, problem = await small.refused("larger", pods=3)
    assert (status, kind, problem["resource"]) == (422, "job-never-fits", world.shape.resource)
    numbers = [quantity.parse(str(problem[name])) / world.shape.unit for name in ("limit", "requested")]
    assert numbers == [2, 3]
    assert await world.kube.get(f"/api/v1/namespaces/{small.name}") is None


async def test_a_job_that_its_queue_became_too_small_for_waits_and_goes_on_when_it_grows(
    world: World, team: MakeTeam
) -> None:
    world.needs(3)
    shrinking = await team("shrinking", capability=3)
    holder = await shrinking.submit("holder", pods=3, seconds=3600)
    await shrinking.until_state(holder, "running")
    large = await shrinking.submit("large", pods=3)
    await shrinking.waits(large)
    await _resize(world, shrinking, 2)
    await shrinking.cancel(holder)
    await shrinking.until_state(holder, "cancelled")
    small = await shrinking.submit("small", pods=1, seconds=1)
    await shrinking.until_state(small, "succeeded")
    waiting = await shrinking.waits(large)
    assert waiting["reason"] in {"WaitingForQueue", "Unschedulable"}
    assert waiting["started_at"] is None
    await _resize(world, shrinking, 3)
    await shrinking.until_state(large, "succeeded")


async def _resize(world: World, team: Team, units: int) -> None:
    """Change the capability, and wait until it is so in Volcano."""
    amounts = {world.shape.resource: world.shape.amount(units)}
    await world.service.made("PATCH", f"/v1/queues/{team.name}", {"capability": amounts})

    async def changed() -> bool:
        queue = await world.kube.get(QUEUE.object_path(None, team.name))
        return queue is not None and world.shape.units_in(queue["spec"]["capability"]) == units

    async def story() -> str:
        return f"the queue reads {await team.queue()}"

    await world.until(changed, story)


async def test_a_pod_larger_than_every_node_waits_with_a_reason_and_can_be_cancelled(
    world: World, team: MakeTeam
) -> None:
    huge = await team("huge", capability=world.shape.too_large)
    job = await huge.submit("huge", units=world.shape.too_large)
    waiting = await huge.waits(job)
    # what fits 1.2 times the free amount gets pods and the nodes' answer, what does not waits before that
    assert waiting["reason"] in {"WaitingForQueue", "Unschedulable"}
    if waiting["reason"] == "Unschedulable" and "nodes are" in waiting["message"]:
        assert f"Insufficient {world.shape.resource}" in waiting["message"]
    await huge.cancel(job)
    ended = await huge.until_state(job, "cancelled")
    assert (ended["started_at"], ended["cancel_reason"]) == (None, "for the test")
    await huge.until_gone(job)
