"""Group 6: cancelling, suspending and resuming, whatever the job and the cluster are just doing."""

import asyncio
from typing import Any

import pytest

from app.simulator.clock import Clock
from app.simulator.faults import Fault
from app.simulator.kinds import COMMAND, POD
from app.simulator.pod_life import Life
from app.simulator.pod_status import ended
from app.telemetry import REGISTRY
from tests.cases.stage import LONG

ACTIVE = {"Pending", "Running", "Restarting", "Aborting", "Completing"}
STUBBORN = {"simulator.pumice.dev/ignore-sigterm": "true"}


async def _nothing_is_left(stage: Any) -> None:
    """No pod, no Volcano Job that works, and no quota in use; waits for what Volcano still has to tidy up."""

    async def tidy() -> bool:
        return not await stage.pods() and not await stage.volcano_jobs()

    await stage.until(tidy)
    assert await stage.nlp.used() == 0


async def _waits(stage: Any, name: str) -> str:
    """A job that has a Volcano Job and no pods, since another one has all GPUs."""
    job_id: str = await stage.submit(name, LONG, gpus=2)
    await stage.until_state(job_id, "pending")
    return job_id


async def test_c01_cancel_before_the_job_is_scheduled(stage: Any) -> None:
    held = await stage.submit("held")
    assert (await stage.ask("cancel", held)).json()["state"] == "cancelled"
    stage.world.start()
    await stage.until_state(await stage.submit("warm"), "succeeded")
    early = [await stage.submit(f"early-{number}", LONG) for number in range(3)]
    for job_id in early:  # whatever its create call is just doing
        assert (await stage.ask("cancel", job_id)).status_code == 202
    for job_id in early:
        await stage.until_state(job_id, "cancelled")
    blocker = await stage.submit("blocker", LONG, gpus=2, replicas=3)
    await stage.until_state(blocker, "running")
    waiting = await _waits(stage, "waiting")
    assert (await stage.ask("cancel", waiting)).status_code == 202
    assert (await stage.ask("cancel", blocker)).status_code == 202  # now there would be room for its pods
    ended = await stage.until_state(waiting, "cancelled")
    assert ended["started_at"] is None
    assert (await stage.nlp.client.get(f"/v1/jobs/{waiting}/pods")).json()["items"] == []
    await stage.until_state(blocker, "cancelled")
    await _nothing_is_left(stage)


async def test_c03_stopped_on_paper_while_pods_still_run(stage: Any) -> None:
    stage.world.start()
    large = await stage.submit("large", LONG, gpus=2, replicas=3, annotations=STUBBORN)
    await _all_run(stage, large)
    assert (await stage.ask("cancel", large)).json()["state"] == "cancelling"

    async def dying() -> bool:
        pods = await stage.pods()
        return len(pods) == 3 and all(pod["metadata"].get("deletionTimestamp") for pod in pods)

    await stage.until(dying)
    await stage.call_it_over(large)
    shown = await stage.until(lambda: _waits_for_pods(stage, large, 3))
    assert (shown["state"], await stage.nlp.used()) == ("cancelling", 6)
    next_one = stage.body(name="next", gpus=8)
    problem = await stage.nlp.refused(next_one, 409, "quota-exceeded")
    assert (problem["limit"], problem["used"], problem["requested"]) == (8, 6, 8)
    await stage.until_state(large, "cancelled")
    assert await stage.pods() == []
    assert await stage.nlp.used() == 0
    await stage.nlp.accepted(next_one)


async def _all_run(stage: Any, job_id: str) -> None:
    async def three_run() -> bool:
        return (await stage.read(job_id))["counts"]["running"] == 3

    await stage.until(three_run)


async def _waits_for_pods(stage: Any, job_id: str, number: int) -> dict[str, Any] | None:
    job: dict[str, Any] = await stage.read(job_id)
    return job if (job["message"] or "").startswith(f"Waits for {number} pods to go") else None


async def test_c04_cancelling_twice_cancelling_what_is_over(stage: Any) -> None:
    stage.world.start(retention_seconds=60.0)
    done, failed = await stage.submit("done"), await stage.submit("failed", "exit 3")
    job_id = await stage.submit("live", LONG)
    await stage.until_state(job_id, "running")
    await stage.until_state(done, "succeeded")
    await stage.until_state(failed, "failed")
    answers = await asyncio.gather(*(stage.ask("cancel", job_id) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {202}
    await stage.until_state(job_id, "cancelled")
    assert 1 <= stage.commands() <= 2  # it is repeated where Volcano has not shown it in two seconds
    assert (await stage.events(job_id)).count("cancel") == 1
    for over, state in ((done, "succeeded"), (failed, "failed"), (job_id, "cancelled")):
        before = await stage.read(over)
        answer = await stage.ask("cancel", over)
        assert (answer.status_code, answer.json()["type"], answer.json()["state"]) == (409, "job-finished", state)
        assert await stage.read(over) == before
    assert (await stage.ask("cancel", "01a23183-91d4-7168-a5b0-c8d8237631d4")).status_code == 404


async def _end_pod(stage: Any, exit_code: int) -> None:
    """Let the only pod that runs end by itself."""

    async def running() -> Any:
        pods = await stage.pods()
        return [pod for pod in pods if pod["status"].get("phase") == "Running"]

    (pod,) = await stage.until(running)
    status = ended(pod, Clock.stamp(), Life(exit_code=exit_code))
    await stage.cluster.objects.patch(POD, "team-nlp", pod["metadata"]["name"], {"status": status}, "status")


async def _rest(stage: Any, job_id: str, cycles: int) -> None:
    """Suspend and resume a running job so many times."""
    for _ in range(cycles):
        await stage.until_state(job_id, "running")
        assert (await stage.ask("suspend", job_id)).status_code == 202
        await stage.until_state(job_id, "suspended")
        assert await stage.nlp.used() == 0
        assert (await stage.ask("resume", job_id)).status_code == 202
    await stage.until_state(job_id, "running")


async def test_c06_suspend_and_resume_eat_the_retry_budget(stage: Any) -> None:
    stage.world.start()
    none = await stage.submit("none", LONG)
    await _rest(stage, none, 5)
    await _end_pod(stage, 0)
    ended_job = await stage.until_state(none, "succeeded", "failed")
    assert (ended_job["state"], ended_job["attempt"]) == ("succeeded", 6)
    one = await stage.submit("one", LONG, retries={"max": 1})
    await _rest(stage, one, 3)
    await _end_pod(stage, 3)

    async def again() -> bool:
        job = await stage.read(one)
        return job["state"] == "running" and job["attempt"] == 5

    await stage.until(again)
    await _end_pod(stage, 3)
    ended_job = await stage.until_state(one, "succeeded", "failed")
    assert (ended_job["state"], ended_job["reason"], ended_job["attempt"]) == ("failed", "Error", 5)


async def test_c07_suspend_in_every_state(stage: Any) -> None:
    held = await stage.submit("held")
    assert (await stage.ask("suspend", held)).json()["state"] == "suspended"
    assert await stage.nlp.used() == 0
    stage.world.start()
    running = await stage.submit("running", LONG, gpus=2, replicas=3)
    await stage.until_state(running, "running")
    assert (await stage.ask("resume", running)).json()["state"] == "running"
    pending = await _waits(stage, "pending")
    for job_id in (pending, running):
        for _ in range(3):
            answer = await stage.ask("suspend", job_id)
            assert answer.status_code == 202
            assert answer.json()["state"] in {"suspending", "suspended"}
        await stage.until_state(job_id, "suspended")
        assert (await stage.ask("suspend", job_id)).json()["state"] == "suspended"
        assert (await stage.events(job_id)).count("suspend") == 1
    await _nothing_is_left(stage)
    assert (await stage.ask("resume", running)).status_code == 202
    again = await stage.until_state(running, "running")
    assert again["attempt"] == 2
    states = [event["state"] for event in await _history(stage, running)]
    assert states.index("suspended") < len(states) - 1 - states[::-1].index("pending")
    assert (await stage.ask("cancel", running)).status_code == 202
    for verb in ("suspend", "resume"):
        answer = await stage.ask(verb, running)
        assert answer.status_code == 409  # it is being cancelled, or has been
    await stage.until_state(running, "cancelled")
    for verb in ("suspend", "resume"):
        answer = await stage.ask(verb, running)
        assert (answer.status_code, answer.json()["type"]) == (409, "job-finished")


async def _history(stage: Any, job_id: str) -> list[dict[str, Any]]:
    answer = await stage.nlp.client.get(f"/v1/jobs/{job_id}/events", params={"limit": 200})
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


@pytest.mark.parametrize("verb", ["cancel", "suspend"])
async def test_c09_cancel_or_suspend_while_the_cluster_is_away(stage: Any, verb: str) -> None:
    on_the_way, done = {"cancel": ("cancelling", "cancelled"), "suspend": ("suspending", "suspended")}[verb]
    stage.world.start()
    job_id = await stage.submit("gone", LONG)
    await stage.until_state(job_id, "running")
    await stage.cluster.faults.away()
    answer = await stage.ask(verb, job_id)
    assert (answer.status_code, answer.json()["state"]) == (202, on_the_way)
    await stage.world.stop()
    stage.world.start()
    assert (await stage.read(job_id))["state"] == on_the_way
    await stage.cluster.faults.back()
    await stage.until_state(job_id, done)
    await _nothing_is_left(stage)


async def test_c09_a_stop_that_the_cluster_refuses(stage: Any) -> None:
    stage.world.start()
    twice, for_long = await stage.submit("twice", LONG), await stage.submit("for-long", LONG)
    for job_id in (twice, for_long):
        await stage.until_state(job_id, "running")
    on_command = {"method": "POST", "plural": COMMAND.plural}
    stage.cluster.faults.add(Fault("answer", status=500, reason="InternalError", count=2, **on_command))
    await stage.ask("cancel", twice)
    await stage.until_state(twice, "cancelled")
    errors = _refused_acts()
    forbidden = Fault("answer", status=403, reason="Forbidden", message="no", count=10_000, **on_command)
    stage.cluster.faults.add(forbidden)
    sent = stage.commands()
    await stage.ask("cancel", for_long)
    refused = await stage.until_message(for_long)
    assert "no" in refused["message"]

    async def tried_again() -> bool:
        return stage.commands() >= sent + 2

    await stage.until(tried_again)
    assert (await stage.read(for_long))["state"] == "cancelling"
    assert await stage.nlp.used() == 1
    assert _refused_acts() > errors


def _refused_acts() -> float:
    return REGISTRY.get_sample_value("pumice_reconcile_errors_total", {"stage": "terminate"}) or 0.0


async def test_c10_pods_that_will_not_go(stage: Any) -> None:
    stage.world.start()
    job_id = await stage.submit("held-on", LONG, gpus=2, replicas=3)
    await _all_run(stage, job_id)
    (node,) = {pod["spec"]["nodeName"] for pod in await stage.pods() if pod["metadata"]["name"].endswith("-0")}
    await stage.cluster.faults.nodes.lose(node, evict_after_seconds=1_000_000.0)
    assert (await stage.ask("cancel", job_id)).status_code == 202
    await stage.until(lambda: _waits_for_pods(stage, job_id, 1))
    await stage.take_away(job_id)  # nothing speaks of it any more but its pod

    async def missed() -> bool:
        asked = [path for verb, path, status in stage.cluster.server.requests if (verb, status) == ("GET", 404)]
        return any(path.endswith("/jobs/held-on") for path in asked)

    await stage.until(missed)
    await stage.until_state(await stage.submit("another"), "succeeded")  # time to draw conclusions
    message = (await stage.read(job_id))["message"]
    assert f"held-on-worker-0 on {node}" in message
    assert (await stage.read(job_id))["state"] == "cancelling"
    assert await stage.nlp.used() == 6  # a job is charged as a whole until its last pod is gone
    answer = await stage.nlp.submit(stage.body(name="held-on"))
    assert (answer.status_code, answer.json()["type"]) == (409, "name-in-use")
    assert int(answer.headers["Retry-After"]) > 0
    await stage.cluster.faults.nodes.restore(node)
    await stage.until_state(job_id, "cancelled")
    assert await stage.nlp.used() == 0
