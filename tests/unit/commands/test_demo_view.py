import io
from dataclasses import replace

from rich.console import Console

from app.commands.demo_checks import Verdict
from app.commands.demo_evidence import JobSeen, PodSeen, QueueSeen, Sample
from app.commands.demo_view import live_view, proof_view, state_changes

POD = PodSeen("low-a", "low-priority", "low-a-0", "Running", "node-7", 1, None, None)
JOB = JobSeen("low-a", "low-priority", 1, "running", None, None, ("team", "low-a"), 1, None, None, None, (POD,))
SAMPLE = Sample(1.25, {"low-a": JOB}, {"low-priority": QueueSeen("low-priority", 2, 1, {"running": 1, "pending": 0})})


def text_of(view: object) -> str:
    console = Console(file=io.StringIO(), width=160, color_system=None)
    console.print(view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_picture_shows_jobs_queues_and_who_holds_which_gpu() -> None:
    lines = text_of(live_view(SAMPLE, gpus_per_node=2)).splitlines()
    assert any("low-a" in line and "running" in line and "node-7" in line for line in lines)
    assert any("low-priority" in line and "#." in line and "1 running" in line for line in lines)
    assert any(line.count("low-a") == 1 and "node-7" in line and "-" in line for line in lines)


def test_the_picture_shows_how_far_a_job_is() -> None:
    assert "%" not in text_of(live_view(SAMPLE, gpus_per_node=2))
    picture = text_of(live_view(replace(SAMPLE, jobs={"low-a": replace(JOB, percent=40)}), gpus_per_node=2))
    assert any("low-a" in line and "40 %" in line for line in picture.splitlines())


def test_a_pod_that_has_ended_holds_no_gpu() -> None:
    ended = replace(JOB, state="succeeded", pods=(replace(POD, phase="Succeeded"),))
    picture = text_of(live_view(replace(SAMPLE, jobs={"low-a": ended}), gpus_per_node=2))
    assert not any(
        "node-7" in line and "low-a" in line and "GPU" not in line and "succeeded" not in line
        for line in picture.splitlines()
    )


def test_a_failed_check_is_shown_with_its_facts() -> None:
    shown = text_of(proof_view([Verdict("it works", ok=False, facts={"seen": 3})], SAMPLE))
    assert "FAILED" in shown
    assert "seen: 3" in shown


def test_only_changes_of_state_are_told() -> None:
    assert state_changes(None, SAMPLE) == ["  1.2 s  low-a is running on node-7"]
    assert state_changes(SAMPLE, SAMPLE) == []
