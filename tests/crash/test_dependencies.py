"""Jobs that wait for others, from the submission to the end, with the controller and the simulated cluster."""

import itertools
from typing import Any

from app.jobs.states import JobState


async def test_a_job_runs_after_another_has_succeeded(world: Any) -> None:
    await world.make_team()
    first = await world.submit("first", command="sleep 1")
    second = await world.submit("second", after=[{"job": str(first)}])
    third = await world.submit("third", after=[{"job": str(second)}])
    world.start()
    await world.until_state(third, JobState.SUCCEEDED)
    rows = [await world.row(job_id) for job_id in (first, second, third)]
    for before, after in itertools.pairwise(rows):
        assert after.released_at >= before.ended_at
    assert (await world.events(second))[:3] == ["accepted:held", "reason:held", "released:held"]
    assert set((await world.usage()).values()) == {0}


async def test_a_failure_ends_those_behind_it_and_none_reaches_the_cluster(world: Any) -> None:
    await world.make_team()
    first = await world.submit("first", command="sleep 0.2; exit 3")
    second = await world.submit("second", after=[{"job": str(first), "otherwise": "cancel"}])
    third = await world.submit("third", after=[{"job": str(second)}])
    last = await world.submit("last", after=[{"job": str(third), "condition": "finished"}])
    world.start()
    await world.until_state(last, JobState.SUCCEEDED)
    assert [(await world.row(job_id)).state for job_id in (first, second, third)] == ["failed", "cancelled", "failed"]
    assert len(world.created) == 2
    assert set((await world.usage()).values()) == {0}


async def test_a_cancel_of_a_held_job_is_told_at_once(world: Any) -> None:
    """No poll and no sweep comes in time: the notification does it."""
    await world.make_team()
    world.start(work_poll_seconds=100.0, sweep_seconds=100.0)
    running = await world.submit("running", command="sleep 10000")
    await world.until_state(running, JobState.RUNNING)
    first = await world.submit("first", after=[{"job": str(running)}])
    second = await world.submit("second", after=[{"job": str(first), "condition": "finished"}])
    await world.cancel(first)
    row = await world.until_state(second, JobState.SUCCEEDED)
    assert row.attempt == 1
