"""Jobs that wait longer than their owner allows end, without ever having been in the cluster."""

from typing import Any

from app.jobs import suspension
from tests.crash.world import GPU


async def test_a_held_job_runs_out_of_time_while_a_suspended_one_does_not(world: Any) -> None:
    await world.make_team({"limits": {GPU: {"outstanding": 1}}, "on_over_quota": "hold"})
    await world.submit("first", command="sleep 10000")
    waiting = await world.submit("waiting", queue_timeout_seconds=1)
    patient = await world.submit("patient")
    resting = await world.submit("resting", queue_timeout_seconds=1)
    await suspension.suspend(world.sessions, resting, world.team)
    world.start()
    ended = await world.until_state(waiting, "failed")
    assert (ended.reason, ended.message) == (
        "QueueTimeout",
        "No pod of the job started within its queue_timeout_seconds of 1.",
    )
    assert ended.started_at is None
    assert (await world.row(patient)).ended_at is None
    row = await world.row(resting)
    assert (row.state, row.queue_deadline_at) == ("suspended", None)
