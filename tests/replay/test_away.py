"""Recordings during which Pumice's controller was away, or somebody took its finalizer off."""

from typing import Any

from tests.replay import checks
from tests.replay.expected import deletions
from tests.replay.play import Play
from tests.replay.recording import Change
from tests.replay.test_replays import begin

LOST = "The Volcano Job was deleted outside this service; its end was not seen."


def _phase(change: Change) -> str:
    return str(((change.object.get("status") or {}).get("state") or {}).get("phase", ""))


async def play_until(play: Play, *, phase: str) -> list[Change]:
    """Play until a Job has a phase, and return what is left."""
    changes = list(play.recording.changes)
    while changes:
        change = changes.pop(0)
        await play.step(change)
        await play.world.settled()
        if change.kind == "Job" and _phase(change) == phase:
            return changes
    raise AssertionError(f"The recording has no Job that is {phase}.")


async def play_while_away(play: Play, changes: list[Change]) -> None:
    await play.world.stop()
    for change in changes:
        await play.step(change)


async def test_the_finalizer_keeps_an_end_that_nobody_saw(make_play: Any) -> None:  # recording 13
    """While Pumice was away the job ended, its TTL deleted it and its pod, and it is there all the same."""
    play = await make_play("13")
    await begin(play)
    left = await play_until(play, phase="Running")
    await play_while_away(play, left)
    shown = play.world.cluster.find("Job", "tr13", "a")
    assert shown is not None
    assert shown["metadata"]["finalizers"] == ["pumice.dev/recorded"]
    assert not play.world.cluster.kinds["Pod"].objects
    play.world.start()
    await play.world.settled()
    await checks.check_rows(play, deletions.SCENARIOS["13"])
    assert play.world.cluster.find("Job", "tr13", "a") is None
    assert (await play.world.job("a")).cleaned_at is not None


async def test_an_end_whose_pods_nobody_saw_has_the_time_of_volcanos_stamp(make_play: Any) -> None:
    """The same, and Pumice was away since before the pod was made."""
    play = await make_play("13")
    await begin(play)
    left = await play_until(play, phase="Pending")
    await play_while_away(play, left)
    play.world.start()
    await play.world.settled()
    job = await play.world.job("a")
    assert (job.state, job.counts["succeeded"]) == ("succeeded", 1)
    assert (job.started_at, f"{job.ended_at:%H:%M:%S.%f}") == (None, "22:15:09.000000")
    assert job.ended_at < play.moment


async def test_a_job_deleted_without_its_finalizer_is_lost(make_play: Any) -> None:  # recording 15
    """Somebody took the finalizer off and deleted the Job: it vanishes at once, as it was recorded."""
    play = await make_play("15")
    await begin(play)
    for change in play.recording.changes:
        if change.kind == "Job" and change.type == "DELETED":
            stored = play.world.cluster.find("Job", "tr15", "a")
            assert stored is not None
            play.world.cluster.strip(stored)
            await play.world.settled()
        await play.step(change)
        await play.world.settled()
    job = await play.world.job("a")
    assert (job.state, job.reason, job.message) == ("lost", "Deleted", LOST)
    assert f"{job.ended_at:%H:%M:%S}" == "22:20:19"
    assert job.cleaned_at is not None
    assert not [write for write in play.world.cluster.writes if write.verb in {"PATCH", "DELETE"}]


async def test_a_vanished_job_whose_pods_were_seen_to_succeed_has_succeeded(make_play: Any) -> None:  # recording 12
    """Without a finalizer Volcano's TTL takes a Job away while Pumice is not looking."""
    play = await make_play("12")
    await begin(play)
    left = await play_until(play, phase="Running")
    while left[0].kind != "Pod" or left[0].phase != "Succeeded":
        await play.step(left.pop(0))
    await play.step(left.pop(0))
    await play.world.settled()
    stored = play.world.cluster.find("Job", "tr12", "a")
    assert stored is not None
    await play.world.stop()
    play.world.cluster.strip(stored)
    for change in left:
        await play.step(change)
    play.world.start()
    await play.world.settled()
    play.world.look(play.jobs["a"])
    await play.world.settled()
    await checks.check_rows(play, deletions.SCENARIOS["12"])
