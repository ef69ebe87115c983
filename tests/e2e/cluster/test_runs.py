"""Jobs of several runs: suspended and resumed, with limits of time, with pods that run again one by one, in arrays."""

from collections.abc import Awaitable, Callable
from typing import Any

from app.cluster.kinds import POD
from tests.e2e.cluster.bodies import EXIT_CODE, LONG
from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]

RESUMES = 4


async def test_suspending_and_resuming_uses_up_no_retry(world: World, team: MakeTeam) -> None:  # C-06
    world.needs(1)
    resting = await team("resting-often", capability=1)
    job = await resting.submit("often", seconds=LONG, retries={"max": 1})
    for _ in range(RESUMES):
        await resting.until_state(job, "running")
        await world.service.made("POST", f"/v1/jobs/{job}/suspend")
        suspended = await resting.until_state(job, "suspended")
        assert suspended["counts"]["running"] == 0
        await resting.until_seen(job, lambda: _is_gone(resting, job))
        await world.service.made("POST", f"/v1/jobs/{job}/resume")
    await resting.until_state(job, "running")
    await _end_one(resting, job, 3)  # a failure of its own is a retry, and the only one
    await resting.until(job, lambda read: read["attempt"] == RESUMES + 2 and read["state"] == "running")
    await _end_one(resting, job, 3)
    ended = await resting.until_state(job, "failed")
    assert (ended["reason"], ended["attempt"]) == ("Error", RESUMES + 2)


async def test_a_job_is_ended_when_it_has_run_or_waited_as_long_as_its_owner_allows(
    world: World, team: MakeTeam
) -> None:
    world.needs(1)
    limited = await team("limited", capability=1)
    running = await limited.submit("running", seconds=LONG, run_timeout_seconds=12)
    await limited.until_state(running, "running")
    waiting = await limited.submit("waiting", seconds=1, queue_timeout_seconds=3)
    ended = await limited.until_state(waiting, "failed")
    assert (ended["reason"], ended["started_at"]) == ("QueueTimeout", None)
    assert "queue_timeout_seconds of 3" in ended["message"]
    ended = await limited.until_state(running, "failed")
    assert ended["reason"] == "DeadlineExceeded"
    assert "run_timeout_seconds is 12" in ended["message"]
    for job in (waiting, running):
        await limited.until_gone(job)


async def test_a_shard_runs_again_alone(world: World, team: MakeTeam) -> None:
    world.needs(3)
    shards = await team("shards", capability=3)
    job = await shards.submit("shards", pods=3, seconds=LONG, min_available=1, retries={"max": 1})
    await shards.until(job, lambda read: read["counts"]["running"] == 3)
    before = {pod["index"]: pod["uid"] for pod in await shards.pods(job)}
    await _end_one(shards, job, 3, index=1)

    async def runs_again() -> Any:
        pods = await shards.pods(job)
        return [pod for pod in pods if pod["index"] == 1 and pod["phase"] == "Running" and pod["uid"] != before[1]]

    (again,) = await shards.until_seen(job, runs_again)
    assert again["attempt"] == 2
    untouched = {pod["index"]: pod["uid"] for pod in await shards.pods(job) if pod["index"] != 1}
    assert untouched == {index: uid for index, uid in before.items() if index != 1}
    assert len(world.witness.uids[job]) == 1
    await shards.cancel(job)
    await shards.until_state(job, "cancelled")


async def test_an_array_runs_as_many_pods_at_a_time_as_it_may(world: World, team: MakeTeam) -> None:
    world.needs(2)
    arrays = await team("arrays", capability=4)
    body = arrays.body("array", seconds=2)
    del body["tasks"][0]["replicas"]
    body["tasks"][0]["array"] = {"size": 5, "parallelism": 2}
    job = (await world.service.made("POST", f"/v1/teams/{arrays.name}/jobs", body))["id"]
    arrays.jobs.append(job)
    most = 0

    async def over() -> bool:
        nonlocal most
        pods = await arrays.pods_there(job)
        most = max(most, sum(_is_let_go(pod) for pod in pods))
        return bool((await arrays.job(job))["state"] == "succeeded")

    await arrays.until_seen(job, over)
    ended = await arrays.job(job)
    assert (ended["counts"]["succeeded"], ended["attempt"], most) == (5, 1, 2)
    assert sorted(pod["index"] for pod in await arrays.pods(job)) == [0, 1, 2, 3, 4]


async def test_only_the_failed_indices_run_again_in_a_run_of_their_own(world: World, team: MakeTeam) -> None:
    world.needs(2)
    arrays = await team("failing-array", capability=2)
    body = arrays.body("failing", exit_code=3, retries={"max": 1})
    del body["tasks"][0]["replicas"]
    body["tasks"][0]["array"] = {"size": 9, "indices": [4, 7]}
    job = (await world.service.made("POST", f"/v1/teams/{arrays.name}/jobs", body))["id"]
    arrays.jobs.append(job)
    ended = await arrays.until_state(job, "failed")
    assert (ended["reason"], ended["attempt"], ended["counts"]["failed"]) == ("Error", 2, 2)
    failed = [(pod["index"], pod["attempt"]) for pod in await arrays.pods(job) if pod["phase"] == "Failed"]
    assert sorted(failed) == [(4, 1), (4, 2), (7, 1), (7, 2)]


def _is_let_go(pod: Any) -> bool:
    over = pod["status"].get("phase") in {"Succeeded", "Failed"}
    return not over and not pod["spec"].get("schedulingGates")


async def _is_gone(team: Team, job: str) -> bool:
    return await team.volcano_job(job) is None


async def _end_one(team: Team, job: str, exit_code: int, index: int = 0) -> None:
    """Have one running pod of a job end with a code, as the witness does to pods that say so."""

    async def running() -> Any:
        label = "volcano.sh/task-index"
        pods = [pod for pod in await team.pods_there(job) if pod["status"].get("phase") == "Running"]
        return [pod for pod in pods if pod["metadata"]["labels"][label] == str(index)]

    (pod,) = await team.until_seen(job, running)
    path = POD.object_path(team.name, pod["metadata"]["name"])
    await team.world.kube.merge(path, {"metadata": {"annotations": {EXIT_CODE: str(exit_code)}}})
