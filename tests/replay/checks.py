"""Holding what Pumice says against what is expected of it."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from tests.replay.expected.rows import Queue, Row, Scenario
from tests.replay.play import Play
from tests.replay.seen import SUBMITTED, history_of, pods_of, queue_of, row_of, wanted_row

Object = dict[str, Any]

LATER_SECONDS = 61


async def look_later(play: Play) -> None:
    """What a sweep would do a minute after the recording's last event."""
    await play.set_clock(play.recording.ends_ms + LATER_SECONDS * 1000)
    for job_id in play.jobs.values():
        play.world.look(job_id)
    await play.world.settled()


async def check_rows(play: Play, scenario: Scenario) -> None:
    assert sorted(play.jobs) == sorted(scenario.jobs)
    for name, wanted in scenario.jobs.items():
        job = await play.world.job(name)
        assert row_of(job) == wanted_row(wanted), name
        assert fnmatchcase(job.message or "", wanted.message or ""), (name, job.message)
        recorded = next(change.object for change in play.recording.changes if change.name == name)
        assert job.k8s_uid == recorded["metadata"]["uid"], name


def check_manifests(play: Play) -> None:
    """The Jobs that Pumice made ask for what the recorded ones asked for."""
    for change in play.recording.changes:
        if (change.kind, change.type) == ("Job", "ADDED"):
            made, recorded = play.world.cluster.made[change.object["metadata"]["uid"]]["spec"], change.object["spec"]
            assert _asked(made) == _asked(recorded), change.name


def _asked(spec: Object) -> Object:
    tasks = [
        (task["name"], task["replicas"], task["minAvailable"], _gpus(task["template"]["spec"]))
        for task in spec["tasks"]
    ]
    return {"tasks": tasks, **{name: spec.get(name) for name in ("queue", "minAvailable", "priorityClassName")}}


def _gpus(pod: Object) -> int:
    return sum(int(container["resources"]["limits"]["nvidia.com/gpu"]) for container in pod["containers"])


async def check_histories(play: Play, scenario: Scenario) -> None:
    for name, wanted in scenario.jobs.items():
        steps = [step.strip() for step in wanted.history.split("|")]
        found = await history_of(play.world, play.jobs[name])
        assert " | ".join(found) == " | ".join([*SUBMITTED, *steps]), name


async def check_pods(play: Play, scenario: Scenario) -> None:
    for name, wanted in scenario.jobs.items():
        lines = sorted(" ".join(line.split()) for line in wanted.pods.strip().splitlines())
        assert await pods_of(play.world, play.jobs[name]) == lines, name


async def check_queues(play: Play, wanted: Mapping[str, Queue | None]) -> None:
    """Wait until the queues' rows say it: they are written at most so often."""
    for name, expected in wanted.items():

        async def says(name: str = name, expected: Queue | None = expected) -> bool:
            return await queue_of(play.world, name) == expected

        try:
            await play.world.until(says, f"queue {name}")
        except AssertionError:
            assert await queue_of(play.world, name) == expected, name  # tells how they differ


async def check_cleaning(play: Play, scenario: Scenario, retention_seconds: float) -> None:
    """After the retention the ended jobs' Volcano Jobs are removed, each once, and nothing else was ever written."""
    await play.set_clock(play.recording.ends_ms + (LATER_SECONDS + retention_seconds) * 1000)
    for job_id in play.jobs.values():
        play.world.look(job_id)
    await play.world.settled()
    for name, wanted in scenario.jobs.items():
        job = await play.world.job(name)
        cleaned = wanted.ended is not None and name not in scenario.commands
        assert (job.cleaned_at is not None) == cleaned, name
        assert (job.recorded_at is not None) == (wanted.ended is not None), name
    check_writes(play, scenario)


def check_writes(play: Play, scenario: Scenario) -> None:
    cluster = play.world.cluster
    written = [str(write) for write in cluster.writes]
    plain = [line for line in written if not line.startswith(("POST namespaces/", "POST queues/", "POST commands/"))]
    wanted = [f"{verb} jobs/{name}" for name, row in scenario.jobs.items() for verb in _verbs(name, row, scenario)]
    assert sorted(plain) == sorted(wanted)
    queues = {line.removeprefix("POST queues/") for line in written if line.startswith("POST queues/")}
    assert queues == set(play.recording.made_queues)
    commands = [write.body for write in cluster.writes if write.plural == "commands"]
    assert {body["target"]["name"] for body in commands} == set(scenario.commands)
    assert all(body["action"] == "TerminateJob" for body in commands)
    assert not [line for line in cluster.unexpected if line.removeprefix("POST queues/") not in scenario.remade]


def _verbs(name: str, row: Row, scenario: Scenario) -> list[str]:
    """One create call; for an ended job one release of the finalizer, and a delete if somebody else has not done it."""
    if row.ended is None:
        return ["POST"]
    return ["POST", "PATCH", "DELETE"] if row.kept and name not in scenario.commands else ["POST", "PATCH"]
