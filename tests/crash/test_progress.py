"""How far workers say that they are: from their pods, or over HTTP, to the job and its history."""

from typing import Any
from uuid import UUID

from app.cluster.pod_progress import MAXIMUM_TOTAL
from app.jobs import progress
from app.jobs.progress_schemas import ProgressWrite
from app.jobs.transitions import job_events
from app.simulator.kinds import POD
from app.telemetry import REGISTRY

STEPS = {"simulator.pumice.dev/progress-steps": "4"}


async def shown(world: Any, job_id: UUID) -> tuple[int, int] | None:
    stored = (await world.row(job_id)).progress
    return None if stored is None or "done" not in stored else (stored["done"], stored["total"])


async def told(world: Any, job_id: UUID) -> list[str]:
    rows = [row for row in await world.rows(job_events) if row.job_id == job_id and row.type == "progress"]
    return [row.message for row in sorted(rows, key=lambda row: row.id)]


async def running(world: Any, *pods: int, **body: Any) -> UUID:
    job_id: UUID = await world.submit(command="sleep 10000", replicas=len(pods), **body)
    await world.until_state(job_id, "running")

    async def all_seen() -> bool:
        return [pod.phase for pod in await world.pods()] == ["Running"] * len(pods)

    await world.until(all_seen)
    return job_id


async def say(world: Any, job_id: UUID, index: int, done: int, total: int) -> None:
    said = ProgressWrite(task="worker", index=index, done=done, total=total)
    await progress.write(world.sessions, job_id, world.team, said)


async def annotate(world: Any, job_id: UUID, index: int, text: str) -> None:
    name = f"{(await world.row(job_id)).k8s_name}-worker-{index}"
    change = {"metadata": {"annotations": {"pumice.dev/progress": text}}}
    await world.cluster.objects.patch(POD, world.namespace, name, change)


async def test_what_stands_on_pods_is_summed_up_and_told(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await world.submit(command="sleep 4", replicas=2, annotations=STEPS)
    await world.until_state(job_id, "succeeded")
    assert await shown(world, job_id) == (8, 8)
    assert (await told(world, job_id))[-1] == "8 of 8 done (100 %)."
    assert [pod.progress for pod in await world.pods()] == [{"done": 4, "total": 4}] * 2
    await world.until_clean(job_id)
    assert await shown(world, job_id) == (8, 8)


async def test_what_is_said_over_http_is_summed_up_and_told(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await running(world, 0, 1)
    assert await shown(world, job_id) is None
    await say(world, job_id, 0, 3, 10)
    await world.until(lambda: _is(world, job_id, (3, 10)))
    await say(world, job_id, 1, 30, 90)
    await world.until(lambda: _is(world, job_id, (33, 100)))
    assert await told(world, job_id) == ["3 of 10 done (30 %)."]  # the same tenth is told of once
    await say(world, job_id, 1, 90, 90)
    await world.until(lambda: _is(world, job_id, (93, 100)))
    assert (await told(world, job_id))[-1] == "93 of 100 done (93 %)."


async def test_an_annotation_of_nonsense_is_counted_and_ignored(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await running(world, 0)
    await annotate(world, job_id, 0, "2/10")
    await world.until(lambda: _is(world, job_id, (2, 10)))
    before = _strange()
    for text in ("50 %", f"1/{MAXIMUM_TOTAL + 1}", "11/10"):
        await annotate(world, job_id, 0, text)
    await world.until(lambda: _counted(before + 1))
    await annotate(world, job_id, 0, "5/10")
    await world.until(lambda: _is(world, job_id, (5, 10)))


async def test_a_restarted_controller_knows_what_was_said(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await running(world, 0)
    await say(world, job_id, 0, 3, 10)
    await world.until(lambda: _is(world, job_id, (3, 10)))
    await world.stop()
    await say(world, job_id, 0, 6, 10)
    world.start()
    await world.until(lambda: _is(world, job_id, (6, 10)))
    assert await told(world, job_id) == ["3 of 10 done (30 %).", "6 of 10 done (60 %)."]


async def _is(world: Any, job_id: UUID, wanted: tuple[int, int]) -> bool:
    return await shown(world, job_id) == wanted


def _strange() -> float:
    return REGISTRY.get_sample_value("pumice_watch_strange_events_total", {"kind": "PodProgress"}) or 0.0


async def _counted(number: float) -> bool:
    return _strange() >= number
