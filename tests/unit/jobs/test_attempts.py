"""The attempts of a job from its recorded pods, which are mostly gone by then (case H-04)."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from app.jobs.attempts import MAXIMUM_NODES, attempts, gpu_seconds, nodes

DAY = datetime(2030, 1, 1, tzinfo=UTC)
GPU = "nvidia.com/gpu"


def at(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


def pod(attempt: int, phase: str, *, start: float | None, end: float | None = None, **fields: Any) -> Any:
    """A pod of one GPU, gone a second after its end."""
    given = {
        "uid": f"{attempt}-{start}-{fields.get('name', 'w-0')}",
        "name": "w-0",
        "attempt": attempt,
        "task": "worker",
        "index": 0,
        "phase": phase,
        "node": "n1",
        "exit_code": None,
        "reason": None,
        "message": None,
        "resources": {GPU: 1},
        "created_at": at((start or 0) - 1),
        "started_at": None if start is None else at(start),
        "ended_at": None if end is None else at(end),
        "gone_at": None if end is None else at(end + 1),
    }
    return SimpleNamespace(**given | fields)


def job(state: str, attempt: int, *, ended: float | None = None, **fields: Any) -> dict[str, Any]:
    row = {"state": state, "attempt": attempt, "reason": None, "message": None}
    return {**row, "ended_at": None if ended is None else at(ended), **fields}


ERROR = pod(1, "Failed", start=0, end=10, exit_code=3, reason="Error", message="exit 3")
KILLED = pod(1, "Failed", start=0, end=11, exit_code=137, reason="Killed", name="w-1", index=1)
OOM = pod(2, "Failed", start=20, end=50, exit_code=137, reason="OOMKilled", name="w-1", index=1)
REST = pod(2, "Failed", start=20, end=51, exit_code=137, reason="Killed")
GOOD = [pod(3, "Succeeded", start=60, end=90, exit_code=0, name=name, index=n) for n, name in enumerate(("w-0", "w-1"))]


def test_each_attempt_says_how_it_went() -> None:
    first, second, third = attempts(job("succeeded", 3, ended=90), [*GOOD, REST, OOM, KILLED, ERROR], at(1000))
    assert (first.attempt, first.state, first.reason, first.exit_code) == (1, "failed", "Error", 3)
    assert (first.task, first.index, first.message) == ("worker", 0, "exit 3")
    assert (first.started_at, first.ended_at) == (at(0), at(11))
    assert first.counts == {"pending": 0, "running": 0, "succeeded": 0, "failed": 2}
    assert first.gpu_seconds == {GPU: 21.0}
    assert (second.state, second.reason, second.exit_code, second.index) == ("failed", "OOMKilled", 137, 1)
    assert (third.state, third.reason, third.exit_code, third.task) == ("succeeded", None, None, None)
    assert third.counts["succeeded"] == 2
    assert third.gpu_seconds == {GPU: 60.0}


def test_the_last_failure_is_told_after_its_pods_are_gone() -> None:
    last = pod(3, "Failed", start=60, end=70, exit_code=1, reason="Error")
    failed = job("failed", 3, ended=70, reason="Error", message="The job failed.")
    third = attempts(failed, [ERROR, OOM, last], at(99))[-1]
    assert (third.state, third.reason, third.exit_code, third.ended_at) == ("failed", "Error", 1, at(70))


@pytest.mark.parametrize(
    ("row", "pods", "state", "reason"),
    [
        (job("pending", 1), [], "pending", None),
        (job("pending", 1), [pod(1, "Pending", start=None)], "pending", None),
        (job("running", 1), [pod(1, "Running", start=5)], "running", None),
        (job("cancelled", 1, ended=9, reason="CancelledByUser"), [], "cancelled", "CancelledByUser"),
        (job("lost", 1, ended=9, reason="Deleted"), [pod(1, "Running", start=5, gone_at=at(9))], "lost", "Deleted"),
        (
            job("failed", 1, ended=11, reason="DeadlineExceeded", message="too long"),
            [KILLED],
            "failed",
            "DeadlineExceeded",
        ),
        (job("suspended", 1), [pod(1, "Failed", start=0, end=9, reason="Killed")], "stopped", None),
        (job("held", 1), [ERROR], "failed", "Error"),
    ],
)
def test_the_last_attempt_is_as_the_job_is(row: Any, pods: list[Any], state: str, reason: str | None) -> None:
    (only,) = attempts(row, pods, at(100))
    assert (only.state, only.reason) == (state, reason)


def test_a_job_that_was_never_sent_has_no_attempt() -> None:
    assert attempts(job("held", 0), [], at(1)) == []


def test_a_pod_made_anew_counts_once_and_uses_twice() -> None:
    again = pod(1, "Succeeded", start=20, end=50, exit_code=0)
    (only,) = attempts(job("succeeded", 1, ended=50), [ERROR, again], at(99))
    assert (only.state, only.reason) == ("succeeded", None)
    assert only.counts == {"pending": 0, "running": 0, "succeeded": 1, "failed": 0}
    assert only.gpu_seconds == {GPU: 40.0}


@pytest.mark.parametrize(
    ("fields", "ended", "now", "seconds"),
    [
        ({"end": 30}, None, 99, 30),
        ({"gone_at": at(40)}, None, 99, 40),  # seen to go, and never to end
        ({}, None, 50, 50),
        ({}, 45, 99, 45),  # its job ended, and nobody saw it go
        ({"end": -5}, None, 99, 0),  # a node's clock that is behind
        ({"resources": {GPU: 4, "rdma/hca": 1}}, None, 10, 40),
        ({"resources": {}}, None, 10, None),
    ],
)
def test_what_a_pod_used(fields: dict[str, Any], ended: float | None, now: float, seconds: float | None) -> None:
    used = gpu_seconds(job("running", 1, ended=ended), [pod(1, "Running", **{"start": 0, **fields})], at(now))
    assert used.get(GPU) == seconds


def test_what_never_started_used_nothing() -> None:
    assert gpu_seconds(job("pending", 1), [pod(1, "Pending", start=None)], at(99)) == {}


def test_nodes_are_those_of_pods_that_live() -> None:
    pods = [
        pod(2, "Running", start=1, node="n2"),
        pod(2, "Running", start=1, node="n2", name="w-1"),
        pod(2, "Pending", start=None, node="n1"),
        pod(2, "Pending", start=None, node=None),
        pod(2, "Succeeded", start=1, node="n3", gone_at=None),
        pod(1, "Running", start=1, node="n4", gone_at=at(2)),
    ]
    assert nodes(pods) == ["n1", "n2"]
    assert len(nodes([pod(1, "Running", start=1, node=f"n{number}") for number in range(300)])) == MAXIMUM_NODES
