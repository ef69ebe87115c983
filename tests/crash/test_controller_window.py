"""The release window, quota-held jobs, queues on both sides, and cancelling at each stage."""

from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text

from app.controller.leader import leases
from app.errors import QueueNotOpen
from app.jobs.transitions import jobs


async def _waiting(world: Any) -> list[Any]:
    return [row for row in await world.rows(jobs) if row.state == "held"]


async def test_the_window_keeps_jobs_here_until_there_is_room(world: Any) -> None:
    await world.make_team(capability=2)
    for index in range(5):
        await world.submit(f"job-{index}", command="sleep 10000", gpus=2)
    world.start(release_window_factor=1.0)

    async def one_runs() -> bool:
        # the running one has left the window, so that one more is pending behind it
        return sorted(await world.states()) == ["held", "held", "held", "pending", "running"]

    await world.until(one_runs)
    assert {row.reason for row in await _waiting(world)} == {"WaitingForRelease"}
    assert len(world.created) == 2
    for row in await world.rows(jobs):
        await world.cancel(row.id)

    async def all_cancelled() -> bool:
        return set(await world.states()) == {"cancelled"}

    await world.until(all_cancelled)
    assert len(world.created) <= 5
    assert set((await world.usage()).values()) == {0}


async def test_without_a_window_everything_is_handed_over_at_once(world: Any) -> None:
    await world.make_team(capability=2)
    for index in range(5):
        await world.submit(f"job-{index}", command="sleep 10000", gpus=2)
    world.start(release_window="off")

    async def all_sent() -> bool:
        return "held" not in await world.states() and len(world.created) == 5

    await world.until(all_sent)


async def test_urgent_jobs_are_released_first(world: Any) -> None:
    await world.make_team(capability=2)
    await world.submit("low", command="sleep 1", gpus=2, priority="low")
    await world.submit("high", command="sleep 1", gpus=2, priority="high")
    world.start(release_window_jobs=1)

    async def all_ended() -> bool:
        return set(await world.states()) == {"succeeded"}

    await world.until(all_ended)
    released = sorted(await world.rows(jobs), key=lambda row: row.released_at)
    assert [row.name for row in released] == ["high", "low"]


async def test_jobs_that_wait_for_their_quota_go_on_when_there_is_room(world: Any) -> None:
    await world.make_team({"limits": {"nvidia.com/gpu": {"outstanding": 2}}, "on_over_quota": "hold"})
    names = ["a", "b", "c"]
    ids = [await world.submit(name, command="sleep 1", gpus=2) for name in names]
    assert [row.reason for row in await _waiting(world)].count("QuotaExceeded") == 2
    world.start()
    for job_id in ids:
        await world.until_state(job_id, "succeeded")
    released = sorted(await world.rows(jobs), key=lambda row: row.released_at)
    assert [row.name for row in released] == names
    assert set((await world.usage()).values()) == {0}


async def test_jobs_that_a_lowered_quota_made_impossible_hide_nobody(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.controller.releasing._MOST_CHARGED", 2)
    await world.make_team({"limits": {"nvidia.com/gpu": {"outstanding": 2}}, "on_over_quota": "hold"})
    running = await world.submit("running", command="sleep 2", gpus=2)
    for number in range(5):
        await world.submit(f"large-{number}", gpus=2)
    small = await world.submit("small", gpus=1)
    async with world.sessions.begin() as session:
        lowered = """UPDATE team_quotas SET limits = '{"nvidia.com/gpu": {"outstanding": 1}}'"""
        await (await session.connection()).exec_driver_sql(lowered)
    world.start()
    for job_id in (running, small):
        await world.until_state(job_id, "succeeded")
    assert (await world.states()).count("held") == 5


async def test_a_queue_is_created_changed_and_read_back(world: Any) -> None:
    await world.make_team(capability=6)
    world.start()
    job_id = await world.submit(command="sleep 10000", gpus=2, replicas=2)
    await world.until_state(job_id, "running")

    async def seen() -> Any:
        async with world.sessions() as session:
            observed = (await session.execute(text("SELECT observed FROM queues"))).scalar_one()
        booked = observed and observed["allocated"].get("nvidia.com/gpu") == "4" and observed["pod_groups"]["running"]
        return observed if booked and observed["drift"] == {"nvidia.com/gpu": 0} else None

    observed = await world.until(seen)
    assert observed["state"] == "Open"
    assert observed["pod_groups"] == {"pending": 0, "inqueue": 0, "running": 1, "unknown": 0}
    change = """UPDATE queues SET weight = 3, capability = '{"nvidia.com/gpu": "4", "cpu": "20"}',
                generation = generation + 1"""
    async with world.sessions.begin() as session:
        await session.execute(text(change))

    async def carried() -> bool:
        spec = (await world.volcano.get_queue("q-nlp"))["spec"]
        return spec["weight"] == 3 and spec["capability"] == {"nvidia.com/gpu": "4", "cpu": "20"}

    await world.until(carried)


async def test_jobs_of_a_queue_that_is_closed_are_held_until_it_opens(world: Any) -> None:
    await world.make_team()
    world.start()
    await world.until_state(await world.submit("first"), "succeeded")
    await _command(world, "CloseQueue", "Closed", "Closing")

    async def accepted() -> Any:
        async with world.sessions.begin() as session:
            # as if the API had not heard of it yet; the controller may write what it sees in between
            await session.execute(text("UPDATE queues SET observed = jsonb_set(observed, '{state}', '\"Open\"')"))
        with suppress(QueueNotOpen):
            return await world.submit("second")

    job_id = await world.until(accepted)

    async def told() -> bool:
        return (await world.row(job_id)).reason == "QueueNotOpen"

    await world.until(told)
    assert (await world.row(job_id)).state == "held"
    await _command(world, "OpenQueue", "Open")
    await world.until_state(job_id, "succeeded")


async def _command(world: Any, action: str, *states: str) -> None:
    queue = await world.volcano.get_queue("q-nlp")
    target = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "name": "q-nlp",
        "uid": queue["metadata"]["uid"],
    }
    body = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": action.lower(), "namespace": "default"},
        "action": action,
        "target": target,
    }
    await world.client.request("POST", "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands", body=body)

    async def shown() -> bool:
        return (await world.volcano.get_queue("q-nlp"))["status"].get("state") in states

    await world.until(shown)


async def test_a_pending_job_is_cancelled_before_any_pod_exists(world: Any) -> None:
    await world.make_team(capability=2)
    world.start()
    first = await world.submit("first", command="sleep 10000", gpus=2)
    await world.until_state(first, "running")
    second = await world.submit("second", command="sleep 10000", gpus=2)
    await world.until_state(second, "pending")
    await world.cancel(second)
    row = await world.until_state(second, "cancelled")
    assert (row.started_at, row.counts.get("running", 0)) == (None, 0)
    assert (await world.row(first)).state == "running"


async def test_a_failing_job_says_which_pod_failed_and_how(world: Any) -> None:
    await world.make_team()
    world.start()
    row = await world.until_state(await world.submit(command="exit 3"), "failed")
    assert row.reason == "Error"
    assert "exit code 3" in row.message
    assert row.counts == {"pending": 0, "running": 0, "succeeded": 0, "failed": 1}


async def test_a_retried_job_counts_its_attempts_and_keeps_their_pods(world: Any) -> None:
    await world.make_team()
    world.start()
    row = await world.until_state(await world.submit(command="exit 3", retries={"max": 1}), "failed")
    assert row.attempt == 2
    ended = sorted((pod.attempt, pod.phase, pod.exit_code) for pod in await world.pods())
    assert ended == [(1, "Failed", 3), (2, "Failed", 3)]


async def test_the_lease_says_what_the_leader_sees_and_is_given_back_at_the_end(world: Any) -> None:
    world.start()

    async def whole() -> Any:
        found = await world.rows(leases)
        watches = found[0].status.get("watches", {}) if found else {}
        return found[0] if watches and all(watch["synced"] for watch in watches.values()) else None

    lease = await world.until(whole)
    assert set(lease.status["watches"]) == {"Job", "PodGroup", "Pod", "Queue", "Node"}
    assert lease.status["cluster"] == "reachable"
    await world.stop()
    async with world.sessions() as session:
        assert (await session.execute(text("SELECT expires_at <= now() FROM leases"))).scalar_one()
