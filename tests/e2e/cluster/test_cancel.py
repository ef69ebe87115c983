"""Cancelling a job wherever it is, and suspending it."""

from collections.abc import Awaitable, Callable

from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_a_job_is_cancelled_while_it_is_held_while_it_waits_and_while_it_runs(
    world: World, team: MakeTeam
) -> None:
    world.needs(1)
    narrow = await team("narrow", capability=1)
    running = await narrow.submit("running", seconds=3600)
    await narrow.until_state(running, "running")
    # the release window keeps twice the capability pending
    pending, heir = [await narrow.submit(name) for name in ("pending", "heir")]
    for job_id in (pending, heir):
        await narrow.waits(job_id)
    held = await narrow.submit("held")
    await narrow.until(held, lambda job: job["state"] == "held" and job["reason"] == "WaitingForRelease")

    await narrow.cancel(held)
    ended = await narrow.until_state(held, "cancelled")
    assert (ended["attempt"], ended["submitted_at"], ended["started_at"]) == (0, None, None)
    await narrow.cancel(pending)
    ended = await narrow.until_state(pending, "cancelled")
    assert (ended["started_at"], await narrow.pods(pending)) == (None, [])
    assert (await narrow.job(running))["state"] == "running"
    await narrow.cancel(running)
    ended = await narrow.until_state(running, "cancelled")
    assert (ended["cancel_reason"], ended["counts"]["running"]) == ("for the test", 0)
    assert (await narrow.history(running))[-3:] == ["running", "cancelling", "cancelled"]
    await narrow.until_state(heir, "succeeded")
    for job_id in (held, pending, running):
        await narrow.until_gone(job_id)
    assert held not in world.witness.uids


async def test_a_suspended_job_gives_its_place_away_and_runs_when_it_is_resumed(world: World, team: MakeTeam) -> None:
    world.needs(1)
    resting = await team("resting", capability=1)
    job = await resting.submit("job", seconds=6)
    await resting.until_state(job, "running")
    await world.service.made("POST", f"/v1/jobs/{job}/suspend")
    await resting.until_state(job, "suspended")
    other = await resting.submit("other", seconds=1)
    await resting.until_state(other, "succeeded")
    await world.service.made("POST", f"/v1/jobs/{job}/resume")
    await resting.until_state(job, "succeeded")
