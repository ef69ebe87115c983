import math
from typing import Any

import pytest

from app.simulator.pod_life import PREFIX, Life, life_of


def pod(command: list[str] | None = None, args: list[str] | None = None, **annotations: str) -> dict[str, Any]:
    container = {"name": "main", "command": command, "args": args}
    named = {PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}
    return {"metadata": {"annotations": named}, "spec": {"containers": [container]}}


@pytest.mark.parametrize(
    ("command", "args", "seconds", "code"),
    [
        (["sleep", "30"], None, 30, 0),
        (["sleep"], ["0.5"], 0.5, 0),
        (None, ["sleep", "2m"], 120, 0),
        (["/bin/sleep", "1", "2"], None, 3, 0),
        (["sleep", "infinity"], None, math.inf, 0),
        (["sleep", "soon"], None, 0, 1),
        (["exit", "3"], None, 0, 3),
        (["exit", "256"], None, 0, 0),
        (["sh", "-c", "sleep 5; exit 1"], None, 5, 1),
        (["bash", "-c"], ["sleep 5 && exit 4"], 5, 4),
        (["/bin/sh", "-ec", "sleep 1\nsleep 2\nexit 2"], None, 3, 2),
        (["sh", "-c", "false && sleep 9; exit"], None, 0, 1),
        (["sh", "-c", "false || sleep 9"], None, 9, 0),
        (["sh", "-c", "true; sleep 4; false"], None, 4, 1),
        (["sh", "-c", "echo 'a; exit 7'; sleep 1"], None, 1, 0),
        (["sh", "-c", "python score.py; exit 1"], None, 3, 1),
        (["sh", "-c", "echo 'open"], None, 3, 0),
        (["sleep 7"], None, 7, 0),
        (["python", "score.py"], None, 3, 0),
        (None, None, 3, 0),
        (["sh", "-c"], None, 3, 0),
    ],
)
def test_commands(command: list[str] | None, args: list[str] | None, seconds: float, code: int) -> None:
    life = life_of(pod(command, args))
    assert (life.run_seconds, life.exit_code) == (seconds, code)


def test_annotations_go_before_the_command() -> None:
    life = life_of(pod(["sleep", "30"], run_seconds="2", exit_code="9", start_seconds="4", ignore_sigterm="true"))
    assert life == Life(run_seconds=2, exit_code=9, start_seconds=4, ignores_sigterm=True)
    assert life.reason == "Error"


def test_out_of_memory() -> None:
    life = life_of(pod(["sleep", "30"], oom="5"))
    assert (life.run_seconds, life.exit_code, life.reason) == (5, 137, "OOMKilled")


def test_an_image_that_cannot_be_pulled() -> None:
    assert life_of(pod(image_pull="ErrImagePull")).waits_for == "ErrImagePull"


def test_an_annotation_that_makes_no_sense_is_ignored() -> None:
    assert life_of(pod(["sleep", "1"], run_seconds="long")).run_seconds == 1


def test_success_is_completed() -> None:
    assert life_of(pod(["sleep", "1"])).reason == "Completed"


@pytest.mark.parametrize(
    ("written", "steps"), [("10", 10), ("1000", 1000), ("9999", 1000), ("0", 0), ("-1", 0), ("99999", 0), ("many", 0)]
)
def test_steps_are_counted_up_to_a_thousand(written: str, steps: int) -> None:
    assert life_of(pod(["sleep", "1"], progress_steps=written)).progress_steps == steps
