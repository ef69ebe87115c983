"""Orders of events that are rare and possible: late create calls, strange rows, news that come in another order."""

from typing import Any

from sqlalchemy import text

from app.simulator.faults import Fault


async def test_a_row_that_cannot_be_read_stops_nobody_else(world: Any) -> None:
    await world.make_team()
    task = world.start()
    strange = await world.submit("strange", command="sleep 10000")
    await world.until_state(strange, "running")
    async with world.sessions.begin() as session:
        await session.execute(text("UPDATE jobs SET spec = '{}'"))
    for name in ("first", "second"):
        await world.until_state(await world.submit(name), "succeeded")
    assert not task.done()
    assert (await world.row(strange)).state == "running"


async def test_a_job_that_ends_unseen_by_the_watch_is_not_called_clean_before_it_is(world: Any) -> None:
    await world.make_team()
    world.start(retention_seconds=3.0)
    await world.until_state(await world.submit("first"), "succeeded")
    world.cluster.faults.stall_watches("jobs")
    job_id = await world.submit("second")
    await world.until_state(job_id, "succeeded")

    async def recorded() -> Any:
        return (await world.row(job_id)).recorded_at

    await world.until(recorded)
    shown = await world.volcano_job(job_id)
    assert not shown["metadata"].get("finalizers")
    await world.until_clean(job_id)
    assert await world.volcano_job(job_id) is None


async def test_a_create_call_that_arrives_after_the_cancel_was_settled_is_stopped_and_removed(
    world: Any,
) -> None:  # C-01
    await world.make_team()
    task = world.start()
    first = await world.submit("first", command="sleep 10000")
    pattern = (await world.volcano_job((await world.until_state(first, "running")).id))["metadata"]
    world.cluster.faults.add(Fault(effect="answer", method="POST", plural="jobs", status=500, reason="InternalError"))
    late = await world.submit("late", command="sleep 10000")

    async def sent() -> bool:
        return (await world.row(late)).state == "submitting" and not world.cluster.faults.active()

    await world.until(sent)
    await world.cancel(late)
    row = await world.until_state(late, "cancelled")
    assert row.k8s_uid is None
    manifest = dict(await world.volcano_job(first))
    labels = {**pattern["labels"], "pumice.dev/job-id": str(late)}
    manifest["metadata"] = {
        "name": row.k8s_name,
        "namespace": row.k8s_namespace,
        "labels": labels,
        "finalizers": pattern["finalizers"],
    }
    del manifest["status"]
    await world.volcano.create_job(manifest)

    async def removed() -> bool:
        return await world.volcano_job(late) is None

    await world.until(removed)
    assert (await world.row(late)).state == "cancelled"
    assert (await world.row(first)).state == "running"
    assert not task.done()
