"""What others do to our Volcano Jobs behind our back."""

from typing import Any

from sqlalchemy import text

from app.cluster.kinds import JOB, POD
from app.cluster.volcano import JobReference
from app.simulator.faults import Fault
from app.simulator.kinds import JOB as JOB_KIND
from app.telemetry import REGISTRY


async def test_a_job_deleted_by_hand_is_lost_and_lets_its_pods_go(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await world.submit(command="sleep 10000")
    row = await world.until_state(job_id, "running")
    await world.volcano.delete_job(JobReference(row.k8s_namespace, row.k8s_name, row.k8s_uid))
    row = await world.until_state(job_id, "lost")
    assert row.reason == "Deleted"
    await world.until_clean(job_id)
    await world.until(lambda: _no_pods(world))
    assert set((await world.usage()).values()) == {0}


async def test_a_page_that_is_not_there_says_nothing_of_a_job(world: Any) -> None:
    """A proxy in front, or a kind that is not served yet: 404, and no word about the object."""
    await world.make_team()
    world.start(sweep_seconds=0.2)
    job_id = await world.submit(command="sleep 10000")
    row = await world.until_state(job_id, "running")
    asked = Fault("answer", method="GET", plural="jobs", name=row.k8s_name, count=3, status=404, reason="", message="")
    world.cluster.faults.add(asked)
    world.cluster.faults.vanish(JOB_KIND, row.k8s_namespace, row.k8s_name)
    world.cluster.faults.cut_watches("jobs", abrupt=True)
    world.cluster.faults.compact()

    states = set()

    async def answered_each_time() -> bool:
        state = (await world.row(job_id)).state
        if asked.count:
            states.add(state)
        return asked.count == 0

    await world.until(answered_each_time)
    assert states == {"running"}
    await world.until_state(job_id, "lost")  # the server itself says so at last


async def _no_pods(world: Any) -> bool:
    return not (await world.volcano.list_page(POD)).items


async def test_a_job_that_vanished_unseen_is_lost_and_another_of_its_name_is_not_touched(world: Any) -> None:
    await world.make_team()
    task = world.start()
    job_id = await world.submit(command="sleep 10000")
    row = await world.until_state(job_id, "running")
    shown = await world.volcano_job(job_id)
    await world.stop()
    assert task.done()
    reference = JobReference(row.k8s_namespace, row.k8s_name, row.k8s_uid)
    await world.volcano.delete_job(reference)
    await world.volcano.remove_finalizer(reference, "pumice.dev/recorded")
    copy = {**shown, "metadata": {name: shown["metadata"][name] for name in ("name", "namespace", "labels")}}
    copy.pop("status", None)
    again = await world.volcano.create_job(copy)
    world.start(sweep_seconds=0.3)
    row = await world.until_state(job_id, "lost", "succeeded", "failed")
    assert row.state == "lost"
    await world.until_clean(job_id)
    assert (await world.volcano_job(job_id))["metadata"]["uid"] == again["metadata"]["uid"]
    assert not (await world.volcano_job(job_id))["metadata"].get("deletionTimestamp")


async def test_an_orphan_of_ours_is_reported_and_never_deleted(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await world.submit(command="sleep 10000")
    await world.until_state(job_id, "running")
    async with world.sessions.begin() as session:
        await session.execute(text("DELETE FROM jobs"))
    shown = (await world.volcano.list_page(JOB)).items
    assert len(shown) == 1
    await world.until(_one_orphan)
    other = await world.submit("other")
    await world.until_state(other, "succeeded")
    await world.until_clean(other)
    assert [job["metadata"]["uid"] for job in (await world.volcano.list_page(JOB)).items] == [
        job["metadata"]["uid"] for job in shown
    ]


async def _one_orphan() -> bool:
    return REGISTRY.get_sample_value("pumice_orphans") == 1
