"""A job's priority and labels, changed while the controller and the cluster work on it."""

from typing import Any
from uuid import UUID

from app.jobs import changing
from app.jobs.schemas import JobPatch
from app.jobs.states import JobState
from app.simulator.faults import Fault


async def change(world: Any, job_id: UUID, **changes: Any) -> None:
    await changing.change(world.sessions, world.settings, job_id, world.team, JobPatch(**changes))


async def until_shown(world: Any, job_id: UUID, priority_class: str | None, labels: dict[str, str | None]) -> None:
    """Wait until the Volcano Job shows this, and the row knows it; a label of None is not there."""

    async def shown() -> bool:
        job = await world.volcano_job(job_id)
        row = await world.row(job_id)
        if job is None or row.alignment_due:
            return False
        found = job["metadata"]["labels"]
        return job["spec"].get("priorityClassName") == priority_class and all(
            found.get(key) == value for key, value in labels.items()
        )

    await world.until(shown)


async def test_the_volcano_job_follows(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await world.submit(command="sleep 10000", labels={"keep": "1", "change": "1", "drop": "1"})
    await world.until_state(job_id, JobState.RUNNING)
    before = await world.volcano_job(job_id)
    await change(world, job_id, priority="high", labels={"change": "2", "drop": None, "new": "3"})
    await until_shown(world, job_id, "high", {"keep": "1", "change": "2", "new": "3", "drop": None})
    await change(world, job_id, priority="normal", labels={"new": None})
    await until_shown(world, job_id, None, {"keep": "1", "change": "2", "new": None})
    after = await world.volcano_job(job_id)
    assert before["metadata"]["uid"] == after["metadata"]["uid"]
    assert before["spec"]["tasks"] == after["spec"]["tasks"]
    assert after["metadata"]["labels"]["pumice.dev/job-id"] == str(job_id)
    assert (await world.row(job_id)).state == "running"


async def test_a_higher_priority_is_served_first(world: Any) -> None:
    """Both wait in Volcano's queue; the later one is put before the earlier one."""
    await world.make_team(capability=6)
    world.start()
    first = await world.submit("first", command="sleep 10000", gpus=2, replicas=3)
    await world.until_state(first, JobState.RUNNING)
    earlier = await world.submit("earlier", command="sleep 10000", gpus=2, replicas=3)
    later = await world.submit("later", command="sleep 10000", gpus=2, replicas=3)
    for job_id in (earlier, later):
        await world.until_state(job_id, JobState.PENDING)
    await change(world, later, priority="high")
    await until_shown(world, later, "high", {})
    await world.cancel(first)
    await world.until_state(later, JobState.RUNNING)
    assert (await world.row(earlier)).state == "pending"


async def test_a_change_while_it_is_being_submitted_is_made_up_for(world: Any) -> None:
    """The claim has read the old wish; the create call lasts longer than the change takes."""
    await world.make_team()
    world.cluster.faults.add(Fault("delay_before", method="POST", plural="jobs", seconds=0.7))
    world.start()
    job_id = await world.submit(command="sleep 10000", labels={"a": "1"})
    await world.until_state(job_id, JobState.SUBMITTING)
    await change(world, job_id, priority="low", labels={"a": "2", "b": "1"})
    await until_shown(world, job_id, "low", {"a": "2", "b": "1"})


async def test_a_change_outlives_the_controller_and_an_absent_cluster(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await world.submit(command="sleep 10000", labels={"a": "1"})
    await world.until_state(job_id, JobState.RUNNING)
    await world.stop()
    await change(world, job_id, labels={"a": None, "b": "1"})
    assert (await world.row(job_id)).alignment_due
    world.start()
    await until_shown(world, job_id, None, {"a": None, "b": "1"})


async def test_a_refusal_is_told_and_the_change_tried_again(world: Any) -> None:
    await world.make_team()
    world.start()
    job_id = await world.submit(command="sleep 10000")
    await world.until_state(job_id, JobState.RUNNING)
    words = "admission webhook denied the request"
    refusal = Fault("answer", method="PATCH", plural="jobs", count=3, status=400, reason="BadRequest", message=words)
    world.cluster.faults.add(refusal)
    world.cluster.faults.add(Fault("answer", method="PATCH", plural="jobs", count=2, status=503))
    await change(world, job_id, labels={"a": "1"})

    async def told() -> bool:
        return words in ((await world.row(job_id)).message or "")

    await world.until(told)
    await until_shown(world, job_id, None, {"a": "1"})

    async def told_no_more() -> bool:
        return (await world.row(job_id)).message is None

    await world.until(told_no_more)
