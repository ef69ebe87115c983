"""A job's way through the controller, the simulated cluster and Postgres."""

from typing import Any


async def test_a_job_runs_to_its_end_and_is_cleaned_up(world: Any) -> None:
    await world.make_team()
    job_id = await world.submit(replicas=2)
    world.start()
    row = await world.until_state(job_id, "succeeded", "failed", "lost")
    assert (row.state, row.reason, row.counts) == (
        "succeeded",
        None,
        {"pending": 0, "running": 0, "succeeded": 2, "failed": 0},
    )
    assert row.attempt == 1
    assert row.created_at <= row.released_at <= row.submitted_at <= row.started_at <= row.ended_at
    await world.until_clean(job_id)
    assert await world.volcano_job(job_id) is None
    assert len(world.created) == 1
    assert set((await world.usage()).values()) == {0}
    assert [(pod.phase, pod.exit_code, pod.attempt) for pod in await world.pods()] == [("Succeeded", 0, 1)] * 2
    events = await world.events(job_id)
    order = ["accepted:held", "released:held", "state:submitting", "submitted:pending", "state:succeeded"]
    assert [event for event in events if event in order] == order
