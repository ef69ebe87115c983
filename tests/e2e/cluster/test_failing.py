"""Pods that fail, without and with further runs."""

from collections.abc import Awaitable, Callable

from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_a_failed_pod_fails_the_job_with_its_exit_code(world: World, team: MakeTeam) -> None:
    world.needs(1)
    failing = await team("failing", capability=2)
    job = await failing.submit("once", exit_code=3)
    ended = await failing.until_state(job, "failed")
    assert (ended["reason"], ended["attempt"], ended["counts"]["failed"]) == ("Error", 1, 1)
    assert "exit code 3" in ended["message"]
    (pod,) = await failing.pods(job)
    assert (pod["phase"], pod["exit_code"], pod["attempt"]) == ("Failed", 3, 1)


async def test_a_failing_job_runs_again_as_often_as_it_may_and_then_fails(world: World, team: MakeTeam) -> None:
    world.needs(2)
    retrying = await team("retrying", capability=2)
    job = await retrying.submit("twice", exit_code=3, retries={"max": 1})
    ended = await retrying.until_state(job, "failed")
    assert (ended["reason"], ended["attempt"]) == ("Error", 2)
    pods = await retrying.pods(job)
    failed = [(pod["attempt"], pod["exit_code"]) for pod in pods if pod["phase"] == "Failed"]
    assert sorted(failed) == [(1, 3), (2, 3)]
