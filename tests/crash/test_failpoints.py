"""The controller dies at every failpoint in turn, a new one starts, and the job has run exactly once all the same."""

import asyncio
from typing import Any

import pytest

from app import failpoints
from app.failpoints import Crash

TO_THE_END = (
    failpoints.RELEASE_MARKED,
    failpoints.SUBMIT_CLAIMED,
    failpoints.SUBMIT_POSTED,
    failpoints.SUBMIT_RECORDED,
    failpoints.OBSERVE_BEFORE_COMMIT,
    failpoints.OBSERVE_COMMITTED,
    failpoints.FINALIZER_RELEASED,
    failpoints.RETENTION_DELETED,
)
WHILE_CANCELLING = (
    failpoints.OBSERVE_BEFORE_COMMIT,
    failpoints.OBSERVE_COMMITTED,
    failpoints.CANCEL_COMMANDED,
    failpoints.CANCEL_RECORDED,
    failpoints.FINALIZER_RELEASED,
    failpoints.RETENTION_DELETED,
)
OF_THE_API = {failpoints.ACCEPT_BEFORE_COMMIT, failpoints.ACCEPT_COMMITTED}


def test_every_failpoint_of_the_controller_is_walked_through() -> None:
    assert {*TO_THE_END, *WHILE_CANCELLING, *OF_THE_API} == set(failpoints.ALL) - set(failpoints.OF_RUNS)


async def _crash_and_replace(world: Any, task: "asyncio.Task[None]") -> None:
    with pytest.raises(Crash):
        await asyncio.wait_for(task, 30)
    failpoints.disarm()
    world.start()


async def _exactly_once(world: Any, job_id: Any, state: str) -> None:
    row = await world.until_state(job_id, "succeeded", "failed", "lost", "cancelled")
    assert (row.state, row.attempt) == (state, 1)
    await world.until_clean(job_id)
    after = await world.row(job_id)
    assert (after.state, after.ended_at, after.recorded_at is not None) == (row.state, row.ended_at, True)
    assert len(world.created) == 1
    assert await world.volcano_job(job_id) is None
    assert set((await world.usage()).values()) == {0}
    assert (after.lock_token, after.lock_expires_at, after.due_at) == (None, None, None)


@pytest.mark.parametrize("name", TO_THE_END)
async def test_a_job_that_ends_runs_once(world: Any, name: str) -> None:
    await world.make_team()
    job_id = await world.submit()
    failpoints.arm(name)
    await _crash_and_replace(world, world.start())
    await _exactly_once(world, job_id, "succeeded")
    assert [(pod.phase, pod.exit_code) for pod in await world.pods()] == [("Succeeded", 0)]


@pytest.mark.parametrize("name", WHILE_CANCELLING)
async def test_a_job_that_is_cancelled_is_cancelled_once(world: Any, name: str) -> None:
    await world.make_team()
    job_id = await world.submit(command="sleep 10000")
    task = world.start()
    await world.until_state(job_id, "running")
    failpoints.arm(name)
    await world.cancel(job_id)
    await _crash_and_replace(world, task)
    await _exactly_once(world, job_id, "cancelled")


@pytest.mark.parametrize("name", [failpoints.SUBMIT_CLAIMED, failpoints.SUBMIT_POSTED])
async def test_a_job_that_is_cancelled_between_two_controllers_is_cancelled(world: Any, name: str) -> None:
    await world.make_team()
    job_id = await world.submit(command="sleep 10000")
    failpoints.arm(name)
    with pytest.raises(Crash):
        await asyncio.wait_for(world.start(), 30)
    failpoints.disarm()
    await world.cancel(job_id)
    assert (await world.row(job_id)).state == "cancelling"
    world.start()
    row = await world.until_state(job_id, "cancelled")
    assert len(world.created) == (1 if name == failpoints.SUBMIT_POSTED else 0)
    if row.k8s_uid is not None:
        await world.until_clean(job_id)
    assert await world.volcano_job(job_id) is None
    assert set((await world.usage()).values()) == {0}


@pytest.mark.parametrize("name", [failpoints.ACCEPT_BEFORE_COMMIT, failpoints.ACCEPT_COMMITTED])
async def test_an_api_that_dies_while_it_accepts_leaves_a_job_whole_or_not_at_all(world: Any, name: str) -> None:
    await world.make_team()
    failpoints.arm(name)
    with pytest.raises(Crash):
        await world.submit()
    failpoints.disarm()
    expected = [] if name == failpoints.ACCEPT_BEFORE_COMMIT else ["succeeded"]
    world.start()

    async def settled() -> bool:
        return await world.states() == expected

    await world.until(settled)
    assert len(world.created) == len(expected)
    assert set((await world.usage()).values()) <= {0}
