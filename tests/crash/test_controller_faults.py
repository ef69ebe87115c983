"""What the controller makes of refusals, lost answers, an absent cluster and people with kubectl."""

import asyncio
from typing import Any

from sqlalchemy import text

from app.cluster.kinds import JOB
from app.controller.leader import leases
from app.simulator.faults import Fault


def _on_create(**fault: Any) -> Fault:
    return Fault(method="POST", plural="jobs", **fault)


async def _ends_well(world: Any, job_id: Any) -> None:
    assert (await world.until_state(job_id, "succeeded", "failed", "lost")).state == "succeeded"
    assert len(world.created) == 1


async def test_an_answer_that_was_lost_is_found_by_the_next_claim_or_the_watch(world: Any) -> None:
    await world.make_team()
    world.cluster.faults.add(_on_create(effect="drop_answer"))
    job_id = await world.submit()
    world.start()
    await _ends_well(world, job_id)


async def test_an_answer_that_was_lost_while_the_watch_is_silent_is_adopted_by_its_name(world: Any) -> None:  # I-03 a
    await world.make_team()
    world.start()
    first = await world.submit("first")
    await world.until_state(first, "succeeded")
    world.cluster.faults.stall_watches("jobs")
    world.cluster.faults.add(_on_create(effect="drop_answer"))
    job_id = await world.submit("second")
    row = await world.until_state(job_id, "pending", "running")
    shown = await world.volcano_job(job_id)
    assert row.k8s_uid == shown["metadata"]["uid"]
    world.cluster.faults.clear()
    await world.until_state(job_id, "succeeded")


async def test_a_busy_server_is_asked_again_after_its_own_time(world: Any) -> None:
    await world.make_team()
    for status in (429, 503):
        world.cluster.faults.add(_on_create(effect="answer", status=status, reason="Busy", retry_after_seconds=1))
    world.cluster.faults.add(_on_create(effect="answer", status=409, reason="Conflict"))
    world.cluster.faults.add(_on_create(effect="answer", status=500, reason="InternalError"))
    job_id = await world.submit()
    world.start()
    await _ends_well(world, job_id)


async def test_a_refusal_for_good_ends_the_job_with_the_clusters_words(world: Any) -> None:
    await world.make_team()
    words = 'admission webhook "validatejob.volcano.sh" denied the request: ' + "no, " * 400
    world.cluster.faults.add(_on_create(effect="answer", status=400, reason="BadRequest", message=words))
    job_id = await world.submit()
    world.start()
    row = await world.until_state(job_id, "failed")
    assert (row.reason, row.message) == ("RejectedByCluster", words[:1024])
    assert row.k8s_uid is None
    assert set((await world.usage()).values()) == {0}


async def test_words_that_postgres_cannot_store_end_one_job_and_not_the_leader(world: Any) -> None:
    await world.make_team()
    world.cluster.faults.add(_on_create(effect="answer", status=400, reason="BadRequest", message="no\0 \ud800"))
    refused = await world.submit("refused")
    world.start()
    row = await world.until_state(refused, "failed")
    assert (row.reason, row.message) == ("RejectedByCluster", "no? ?")
    await world.until_state(await world.submit("other"), "succeeded")
    assert (await world.rows(leases))[0].epoch == 1


async def test_a_refusal_after_a_lost_answer_does_not_hide_the_job_that_exists(world: Any) -> None:
    await world.make_team()
    world.start()
    await world.until_state(await world.submit("first"), "succeeded")
    world.cluster.faults.stall_watches("jobs")
    world.cluster.faults.add(_on_create(effect="drop_answer"))
    world.cluster.faults.add(_on_create(effect="answer", status=400, reason="BadRequest", message="no"))
    job_id = await world.submit("second")
    assert (await world.until_state(job_id, "pending", "running", "failed")).state != "failed"
    world.cluster.faults.clear()
    await world.until_state(job_id, "succeeded")


async def test_a_namespace_that_we_may_not_create_but_that_is_there_will_do(world: Any) -> None:
    await world.make_team()
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-nlp"}}
    await world.client.request("POST", "/api/v1/namespaces", body=manifest)
    forbidden = {"effect": "answer", "status": 403, "reason": "Forbidden", "message": "no"}
    world.cluster.faults.add(Fault(method="POST", plural="namespaces", count=100, **forbidden))
    world.start()
    await world.until_state(await world.submit(), "succeeded")


async def test_a_namespace_that_we_may_not_create_and_that_is_not_there_is_named(world: Any) -> None:
    await world.make_team()
    forbidden = {"effect": "answer", "status": 403, "reason": "Forbidden", "message": "no"}
    world.cluster.faults.add(Fault(method="POST", plural="namespaces", count=100, **forbidden))
    world.start()
    job_id = await world.submit()

    async def waits() -> bool:
        row = await world.row(job_id)
        return (row.state, row.reason) == ("held", "NamespaceMissing")

    await world.until(waits)


async def test_a_foreign_job_of_the_same_name_is_left_alone(world: Any) -> None:
    await world.make_team()
    job_id = await world.submit()
    row = await world.row(job_id)
    await world.client.request(
        "POST", "/api/v1/namespaces", body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-nlp"}}
    )
    await world.until(lambda: _default_is_open(world))
    foreign = {
        "apiVersion": JOB.api_version,
        "kind": "Job",
        "metadata": {"name": row.k8s_name, "namespace": "team-nlp"},
        "spec": {"queue": "default", "schedulerName": "volcano", "tasks": [_task()]},
    }
    before = await world.volcano.create_job(foreign)
    world.start()
    row = await world.until_state(job_id, "failed")
    assert row.reason == "NameConflict"
    assert (await world.volcano_job(job_id))["metadata"]["uid"] == before["metadata"]["uid"]


async def _default_is_open(world: Any) -> bool:
    return (await world.volcano.get_queue("default")).get("status", {}).get("state") == "Open"


def _task() -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/x:1", "command": ["sleep", "10000"]}
    return {
        "name": "worker",
        "replicas": 1,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }


async def test_while_the_cluster_is_away_jobs_are_held_and_nothing_is_lost(world: Any) -> None:
    await world.make_team()
    world.start()
    running = await world.submit("running", command="sleep 60")
    await world.until_state(running, "running")
    await world.cluster.faults.away()
    waiting = await world.submit("waiting")
    row = await world.until(lambda: _put_back(world, waiting))
    assert row.state == "held"
    assert (await world.row(running)).state == "running"
    await world.cluster.faults.back()
    await world.until_state(waiting, "succeeded")
    await world.until_state(running, "succeeded")
    assert len(world.created) == 2


async def test_jobs_that_were_claimed_when_the_cluster_went_away_are_held_again(world: Any) -> None:
    await world.make_team()
    # a claim that is merely kept would be locked for a minute and a half
    world.start(lease_seconds=120.0, submit_concurrency=2)
    await world.until_state(await world.submit("first", gpus=0), "succeeded")
    await world.cluster.faults.away()
    jobs = [await world.submit(f"job-{index}", gpus=0) for index in range(12)]

    async def all_held() -> bool:
        rows = [await world.row(job_id) for job_id in jobs]
        return all(row.state == "held" and row.attempted_at and row.lock_token is None for row in rows)

    await world.until(all_held, 20)
    await world.cancel(jobs[0])
    assert (await world.row(jobs[0])).state == "cancelled"
    await world.cluster.faults.back()
    for job_id in jobs[1:]:
        await world.until_state(job_id, "succeeded")
    assert len(world.created) == 12


async def _put_back(world: Any, job_id: Any) -> Any:
    row = await world.row(job_id)
    return row if row.attempted_at is not None and row.state == "held" else None


async def test_a_controller_that_starts_without_a_cluster_waits_for_it(world: Any) -> None:
    await world.make_team()
    await world.cluster.faults.away()
    task = world.start()
    job_id = await world.submit()

    async def says_so() -> bool:
        statuses = await _lease_status(world)
        return bool(statuses) and statuses.get("cluster") == "unreachable" and not statuses["watches"]["Job"]["synced"]

    await world.until(says_so)
    await world.cluster.faults.back()
    await _ends_well(world, job_id)
    assert not task.done()


async def _lease_status(world: Any) -> dict[str, Any]:
    async with world.sessions() as session:
        return (await session.execute(text("SELECT status FROM leases"))).scalar_one_or_none() or {}


async def test_postgres_connections_that_break_are_no_end(world: Any) -> None:
    await world.make_team()
    task = world.start()
    jobs = [await world.submit(f"job-{index}", command="sleep 3") for index in range(3)]
    await world.until_state(jobs[0], "pending", "running")
    async with world.sessions() as session:
        kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        await session.execute(text(kill + " AND pid <> pg_backend_pid()"))
    for job_id in jobs:
        await world.until_state(job_id, "succeeded")
    assert not task.done()
    assert len(world.created) == 3


async def test_two_controllers_share_the_work_in_turn(world: Any) -> None:
    await world.make_team()
    first = world.start()
    second = world.start()
    jobs = [await world.submit(f"job-{index}", command="sleep 1") for index in range(4)]
    await world.until_state(jobs[0], "pending", "running")
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    for job_id in jobs:
        await world.until_state(job_id, "succeeded")
    assert not second.done()
    assert len(world.created) == 4


async def test_a_failed_command_leaves_cancelling_with_the_clusters_words(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await world.submit(command="sleep 10000")
    await world.until_state(job_id, "running")
    refused = Fault(
        effect="answer", method="POST", plural="commands", status=403, reason="Forbidden", message="may not", count=2
    )
    world.cluster.faults.add(refused)
    await world.cancel(job_id)
    row = await world.until(lambda: _with_message(world, job_id))
    assert row.state == "cancelling"
    assert row.message == "The cluster refuses to stop the job: may not"
    await world.until_state(job_id, "cancelled")


async def _with_message(world: Any, job_id: Any) -> Any:
    row = await world.row(job_id)
    return row if row.message else None
