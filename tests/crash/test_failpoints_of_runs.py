"""The controller dies at every failpoint of a job that has several runs; each run has happened once all the same."""

from typing import Any
from uuid import UUID

import pytest

from app import failpoints
from app.jobs import suspension
from tests.crash.test_failpoints import _crash_and_replace

WHILE_SUSPENDING = (
    failpoints.OBSERVE_BEFORE_COMMIT,
    failpoints.OBSERVE_COMMITTED,
    failpoints.SUSPEND_COMMANDED,
    failpoints.FINALIZER_RELEASED,
    failpoints.RETENTION_DELETED,
    failpoints.RUN_RECORDED,
)
WHILE_RESTARTING = (
    failpoints.OBSERVE_BEFORE_COMMIT,
    failpoints.OBSERVE_COMMITTED,
    failpoints.FINALIZER_RELEASED,
    failpoints.RETENTION_DELETED,
    failpoints.RUN_RECORDED,
)
OF_PODS = (failpoints.POD_ADMITTED, failpoints.POD_DELETED)


def test_every_failpoint_of_runs_is_walked_through() -> None:
    assert set(failpoints.OF_RUNS) <= {*WHILE_SUSPENDING, *WHILE_RESTARTING, *OF_PODS}


async def _books_agree(world: Any, job_id: UUID, runs: int) -> None:
    """Each run was created once, under a name of its own, and nothing is left of any."""
    await world.until_clean(job_id)
    row = await world.row(job_id)
    assert row.attempt == runs
    assert len(world.created) == len(set(world.created)) == runs
    assert await world.volcano_job(job_id) is None
    assert set((await world.usage()).values()) == {0}
    assert (row.lock_token, row.due_at, row.ending) == (None, None, None)


@pytest.mark.parametrize("name", WHILE_SUSPENDING)
async def test_a_job_is_suspended_once_and_goes_on_once(world: Any, name: str) -> None:
    await world.make_team()
    job_id = await world.submit(command="sleep 10000")
    task = world.start()
    await world.until_state(job_id, "running")
    failpoints.arm(name)
    await suspension.suspend(world.sessions, job_id, world.team)
    await _crash_and_replace(world, task)
    suspended = await world.until_state(job_id, "suspended")
    assert (suspended.k8s_uid, suspended.attempt) == (None, 1)
    assert await world.volcano_job(job_id) is None
    assert set((await world.usage()).values()) == {0}
    await suspension.resume(world.sessions, job_id, world.team)
    resumed = await world.until_state(job_id, "running")
    assert (resumed.resumes, resumed.retries) == (1, 0)
    await world.cancel(job_id)
    await world.until_state(job_id, "cancelled")
    await _books_agree(world, job_id, 2)


@pytest.mark.parametrize("name", WHILE_RESTARTING)
async def test_a_failed_job_runs_again_once(world: Any, name: str) -> None:
    await world.make_team()
    job_id = await world.submit(command="exit 3", retries={"max": 1})
    failpoints.arm(name)
    await _crash_and_replace(world, world.start())
    ended = await world.until_state(job_id, "succeeded", "failed", "lost")
    assert (ended.state, ended.reason, ended.retries) == ("failed", "Error", 1)
    await _books_agree(world, job_id, 2)
    assert sorted((pod.attempt, pod.exit_code) for pod in await world.pods()) == [(1, 3), (2, 3)]


async def test_pods_that_were_let_go_by_a_dead_controller_are_let_go_once(world: Any) -> None:
    await world.make_team()
    job_id = await world.submit(array={"size": 4, "parallelism": 2}, command="sleep 0.5")
    failpoints.arm(failpoints.POD_ADMITTED)
    await _crash_and_replace(world, world.start())
    ended = await world.until_state(job_id, "succeeded", "failed", "lost")
    assert (ended.state, ended.counts["succeeded"]) == ("succeeded", 4)
    await _books_agree(world, job_id, 1)
    assert sorted(pod.index for pod in await world.pods()) == [0, 1, 2, 3]


async def test_a_shard_that_a_dead_controller_removed_runs_again_once(world: Any) -> None:
    await world.make_team()
    failing = {"name": "failing", "replicas": 1, "command": ["sh", "-c", "exit 3"]}
    job_id = await world.submit(command="sleep 10000", more_tasks=[failing], min_available=1, retries={"max": 1})
    failpoints.arm(failpoints.POD_DELETED)
    await _crash_and_replace(world, world.start())

    async def failed_twice() -> bool:
        failed = [pod for pod in await world.pods() if pod.task == "failing"]
        return sorted((pod.attempt, pod.exit_code) for pod in failed) == [(1, 3), (2, 3)]

    await world.until(failed_twice)
    row = await world.row(job_id)
    assert (row.state, row.attempt, row.counts["failed"], len(world.created)) == ("running", 2, 1, 1)
