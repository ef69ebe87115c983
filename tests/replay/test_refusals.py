"""What a real Volcano's webhooks and API server refused, given to Pumice as the answer to its own create call."""

from typing import Any

import pytest

from app.errors import QueueNotOpen
from tests.replay.cluster import Answer
from tests.replay.play import Play
from tests.replay.recording import Refusal, load
from tests.replay.seen import queue_of
from tests.replay.test_replays import begin

REFUSED_JOBS = [
    refusal
    for name in ("19", "21")
    for refusal in load(name).refusals
    if refusal.plural == "jobs" and "metadata" in refusal.body  # changes of a Job have none
]
HELD = {"queue does not exist": "QueueMissing"}
CONFLICTS = {"create again with the same name": "NameConflict"}


async def send(play: Play, name: str, refusal: Refusal) -> Any:
    """Have Pumice send a job whose create call is answered as recorded, and return its row once that is recorded."""
    world = play.world
    world.cluster.answers["jobs", f"tr/{name}"] = Answer(refusal.status, refusal.answer)
    task = {"replicas": 1, "image": "registry.test/llm:1", "resources": {"gpus": 1}}
    await world.submit({"name": name, "queue": "batch", "tasks": [task]})

    async def answered() -> bool:
        row = await world.job(name)
        return row.attempted_at is not None and row.state != "submitting"

    await world.until(answered, "the answer to be recorded")
    return await world.job(name)


async def test_a_refused_job_says_it_in_volcanos_words(make_play: Any) -> None:
    play = await make_play("19")
    await begin(play)
    for number, refusal in enumerate(REFUSED_JOBS):
        name = f"refused-{number}"
        if refusal.note in CONFLICTS:
            foreign = {"metadata": {"name": name, "namespace": "tr", "uid": "another's"}}
            play.world.cluster.put("Job", "ADDED", foreign)
        row = await send(play, name, refusal)
        if reason := HELD.get(refusal.note):
            assert (row.state, row.reason, row.ended_at) == ("held", reason, None), refusal.note
        else:
            wanted = ("failed", CONFLICTS.get(refusal.note, "RejectedByCluster"))
            assert (row.state, row.reason) == wanted, refusal.note
            assert (row.started_at, row.k8s_uid, row.attempt) == (None, None, 0), refusal.note
        if refusal.note not in CONFLICTS:
            assert row.message == refusal.answer["message"][:1024], refusal.note
        posts = [str(write) for write in play.world.cluster.writes if write.name == name]
        assert posts == [f"POST jobs/{name}"], refusal.note


async def test_a_queue_that_volcano_closes_takes_no_job(make_play: Any) -> None:  # recording 20
    play = await make_play("20")
    await begin(play)
    (refused,) = play.recording.refusals
    for change in play.recording.changes:
        if change.ms > refused.ms:
            break
        await play.step(change)
    await play.world.settled()

    async def closing() -> bool:
        seen = await queue_of(play.world, "q20")
        return seen is not None and seen.state == "Closing"

    await play.world.until(closing, "the queue to be seen closing")
    task = {"replicas": 1, "image": "registry.test/llm:1", "resources": {"gpus": 1}}
    with pytest.raises(QueueNotOpen, match="The queue q20 is Closing"):
        await play.world.submit({"name": "b", "queue": "q20", "tasks": [task]})


def test_the_recorder_was_refused_often_enough() -> None:
    assert len(REFUSED_JOBS) > 20
