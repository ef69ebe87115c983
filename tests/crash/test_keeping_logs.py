"""The last lines of pods are kept before the pods go, and nothing waits for it (case L-02)."""

from typing import Any
from uuid import UUID

import pytest

from app.cluster.client import ClusterSettings
from app.cluster.opening import lazy_pod_logs
from app.errors import LogsGone
from app.jobs.log_tails import log_tails
from app.logs.choosing import Asked
from app.logs.service import Logs
from app.simulator.clock import Clock
from app.simulator.faults import Fault
from app.simulator.kinds import POD
from app.simulator.pod_life import Life
from app.simulator.pod_status import ended


async def tails(world: Any) -> list[Any]:
    return await world.rows(log_tails)


async def read(world: Any, job_id: UUID, **asked: Any) -> bytes:
    """The log as the API would answer it."""
    parts: list[bytes] = []

    async def write(text: bytes) -> None:
        parts.append(text)

    async with (
        lazy_pod_logs(ClusterSettings(url=world.cluster.url), streams=4) as upstream,
        Logs(world.settings, world.sessions, upstream).open(job_id, world.team, Asked(**asked)) as body,
    ):
        await body.write_to(write)
        assert body.headers["Pumice-Log-Source"] == "kept"
    return b"".join(parts)


async def test_the_last_lines_outlive_the_pod(world: Any) -> None:
    await world.make_team()
    world.start(retention_seconds=1.0, kept_log_lines=3)
    job_id = await world.submit(command="sleep 60", replicas=2, gpus=1)
    await world.until_state(job_id, "succeeded")
    await world.until_clean(job_id)
    assert [row.complete for row in await world.until(lambda: _so_many(world, 2))] == [True, True]
    text = (await read(world, job_id)).decode().splitlines()
    assert len(text) == 6
    assert sum("worker ends with exit code 0" in line for line in text) == 2
    assert {line.partition(" | ")[0] for line in text} == {"worker-0", "worker-1"}
    assert (await read(world, job_id, replica=1, tail=1)).endswith(b"worker ends with exit code 0\n")


async def succeed(world: Any, name: str) -> None:
    """End a pod that would run on."""
    objects = world.cluster.objects
    pod = await objects.get(POD, world.namespace, name)
    await objects.patch(POD, world.namespace, name, {"status": ended(pod, Clock.stamp(), Life())}, "status")


async def _so_many(world: Any, count: int) -> list[Any] | None:
    found = await tails(world)
    return found if len(found) == count else None


async def test_bytes_are_kept_as_they_are_within_the_bounds_of_a_job(world: Any) -> None:
    await world.make_team()
    world.start(retention_seconds=1.0, kept_log_bytes=1000, kept_log_job_bytes=2500)
    job_id = await world.submit(command="sleep 100000", replicas=3, gpus=1)

    async def running() -> list[Any] | None:
        pods = [pod for pod in await world.pods() if pod.phase == "Running"]
        return pods if len(pods) == 3 else None

    for pod in await world.until(running):
        world.cluster.faults.logs.write(world.namespace, pod.name, b"\x00\xff " * 400 + b"\nlast \xfe\n")
        await succeed(world, pod.name)
    await world.until_state(job_id, "succeeded")
    rows = await world.until(lambda: _so_many(world, 3))
    assert sorted(row.size for row in rows)[:2] == [0, 0]  # successes have half of the job's room
    assert max(row.size for row in rows) <= 1000
    assert all(row.truncated for row in rows)
    (kept,) = [bytes(row.text) for row in rows if row.size]
    assert kept.endswith(b" last \xfe\n")


@pytest.mark.parametrize("fault", ["away", "refused", "slow"])
async def test_a_job_ends_although_its_log_cannot_be_kept(world: Any, fault: str) -> None:
    await world.make_team()
    effect = {"away": {"status": 500}, "refused": {"status": 403, "reason": "Forbidden"}, "slow": {"seconds": 60.0}}
    kind = "delay_before" if fault == "slow" else "answer"
    world.cluster.faults.add(Fault(kind, subresource="log", count=100, **effect[fault]))
    world.start()
    job_id = await world.submit()
    await world.until_state(job_id, "succeeded")
    await world.until_clean(job_id)
    assert await tails(world) == []
    with pytest.raises(LogsGone, match="was deleted"):
        await read(world, job_id)


async def test_keeping_can_be_turned_off(world: Any) -> None:
    await world.make_team()
    world.start(kept_log_lines=0)
    job_id = await world.submit()
    await world.until_state(job_id, "succeeded")
    await world.until_clean(job_id)
    assert await tails(world) == []
    assert not any(path.endswith("/log") for _, path, _ in world.cluster.server.requests)


async def test_a_new_leader_does_not_read_again_what_is_kept(world: Any) -> None:
    await world.make_team()
    world.start(retention_seconds=60.0)
    job_id = await world.submit()
    await world.until_state(job_id, "succeeded")
    await world.until(lambda: _so_many(world, 1))
    await world.stop()
    world.cluster.server.requests.clear()
    world.start(retention_seconds=0.2)
    await world.until_clean(job_id)
    assert not any(path.endswith("/log") for _, path, _ in world.cluster.server.requests)
