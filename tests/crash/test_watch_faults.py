"""Watches that break in every way, objects that vanish without a word, and a cluster that is away for long."""

from collections.abc import Callable
from typing import Any

import pytest

from app.cluster.kinds import JOB, POD
from app.cluster.volcano import JobReference
from app.simulator.faults import Fault, Faults
from app.simulator.kinds import JOB as SIMULATED_JOB


def _cut(faults: Faults) -> None:
    faults.cut_watches()


def _break(faults: Faults) -> None:
    faults.cut_watches(abrupt=True)


def _expire(faults: Faults) -> None:
    faults.expire_watches()


def _compact(faults: Faults) -> None:
    faults.compact()
    faults.cut_watches()


def _garble(faults: Faults) -> None:
    faults.send_line(b'{"type": "MODIFIED", "object": {"met')


def _compacted_by_etcd(faults: Faults) -> None:
    status = {"kind": "Status", "code": 500, "message": "etcdserver: mvcc: required revision has been compacted"}
    faults.send_line({"type": "ERROR", "object": status})


@pytest.mark.parametrize("fault", [_cut, _break, _expire, _compact, _garble, _compacted_by_etcd])
async def test_whatever_ends_the_watches_every_job_ends_well(world: Any, fault: Callable[[Faults], None]) -> None:
    await world.make_team()
    task = world.start(sweep_seconds=600.0)
    first = await world.submit("first", command="sleep 10")
    await world.until_state(first, "running")
    fault(world.cluster.faults)
    second = await world.submit("second", command="sleep 1")
    for job_id in (first, second):
        row = await world.until_state(job_id, "succeeded", "failed", "lost")
        assert (row.state, row.attempt) == ("succeeded", 1)
        await world.until_clean(job_id)
    assert len(world.created) == 2
    assert not task.done()


async def test_a_job_that_vanished_without_an_event_is_lost_after_the_next_list(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await world.submit(command="sleep 10000")
    row = await world.until_state(job_id, "running")
    other = await world.submit("other", command="sleep 10000")
    await world.until_state(other, "running")
    world.cluster.faults.vanish(SIMULATED_JOB, row.k8s_namespace, row.k8s_name)
    world.cluster.faults.expire_watches()
    row = await world.until_state(job_id, "lost")
    assert row.reason == "Deleted"
    assert (await world.row(other)).state == "running"
    assert (await world.usage())["nvidia.com/gpu"] == 1


@pytest.mark.parametrize("status", [500, 429])
async def test_webhooks_that_are_away_leave_the_job_held_and_it_goes_by_itself(world: Any, status: int) -> None:  # I-05
    words = 'Internal error occurred: failed calling webhook "validatejob.volcano.sh": dial tcp 10.0.0.1:443'
    fault = Fault(effect="answer", method="POST", plural="jobs", status=status, message=words, count=4)
    if status == 429:
        fault.retry_after_seconds = 1
    await world.make_team()
    world.cluster.faults.add(fault)
    # a claim that were left to run out would take two minutes
    world.start(lease_seconds=120.0)
    job_id = await world.submit()

    async def held() -> Any:
        row = await world.row(job_id)
        return row if row.attempted_at is not None and row.state == "held" else None

    await world.until(held)
    assert (await world.until_state(job_id, "succeeded", "failed", "lost")).state == "succeeded"
    assert len(world.created) == 1


async def test_a_cluster_that_is_away_for_long_fails_nothing_and_floods_no_log(
    world: Any, capfd: pytest.CaptureFixture[str]
) -> None:  # I-09
    await world.make_team()
    task = world.start()
    running = [await world.submit(f"running-{index}", command="sleep 60") for index in range(2)]
    stopped = await world.submit("stopped", command="sleep 10000")
    for job_id in (*running, stopped):
        await world.until_state(job_id, "running")
    capfd.readouterr()
    await world.cluster.faults.away()
    await world.cancel(stopped)
    waiting = [await world.submit(f"waiting-{index}") for index in range(3)]
    await world.cluster.faults.away(20)
    said = [line for line in capfd.readouterr().out.splitlines() if "[debug" not in line]
    assert len(said) < 100
    assert sorted({(await world.row(job_id)).state for job_id in running}) == ["running"]
    assert (await world.row(stopped)).state == "cancelling"
    for job_id in (*running, *waiting):
        row = await world.until_state(job_id, "succeeded", "failed", "lost")
        assert (row.state, row.attempt) == ("succeeded", 1)
    await world.until_state(stopped, "cancelled")
    assert len(world.created) == 6
    assert set((await world.usage()).values()) == {0}
    assert not task.done()


async def test_a_finalizer_that_somebody_took_off_and_a_ttl_leave_the_end_as_it_was(world: Any) -> None:
    await world.make_team()
    world.start(retention_seconds=600.0)
    job_id = await world.submit()
    row = await world.until_state(job_id, "succeeded")
    reference = JobReference(row.k8s_namespace, row.k8s_name, row.k8s_uid)
    await world.volcano.delete_job(reference)  # as Volcano's TTL does
    await world.until_clean(job_id)
    after = await world.row(job_id)
    assert (after.state, after.ended_at, after.counts) == (row.state, row.ended_at, row.counts)
    assert not (await world.volcano.list_page(JOB)).items

    async def no_pods() -> bool:
        return not (await world.volcano.list_page(POD)).items

    await world.until(no_pods)
