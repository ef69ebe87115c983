from datetime import UTC, datetime
from typing import Any

import pytest

from app.commands.demo_evidence import job_of, queue_of

JOB: dict[str, Any] = {
    "name": "low-a",
    "queue": "low-priority",
    "resources": {"nvidia.com/gpu": "2"},
    "state": "running",
    "reason": None,
    "message": None,
    "k8s_namespace": "team-batch",
    "k8s_name": "low-a-1",
    "attempt": 1,
    "progress": None,
    "submitted_at": "2026-01-02T03:04:05Z",
    "started_at": None,
    "ended_at": None,
}


def pod(**changes: Any) -> dict[str, Any]:
    body = {
        "name": "low-a-worker-0",
        "phase": "Running",
        "node": "node-0",
        "resources": {"nvidia.com/gpu": "1"},
        "started_at": "2026-01-02T03:04:06Z",
        "ended_at": None,
    }
    return body | changes


def test_a_job_is_read_with_its_pods() -> None:
    job = job_of(JOB, [pod(), pod(name="low-a-worker-1", node="node-1", resources={"nvidia.com/gpu": 2})])
    assert job.submitted_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert job.gpus == 2
    assert job.nodes == ["node-0", "node-1"]
    assert [seen.gpus for seen in job.pods] == [1, 2]
    assert job.first_pod_started_at == datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)


def test_gpus_are_free_only_when_the_last_pod_has_ended() -> None:
    ended = pod(ended_at="2026-01-02T03:04:10Z")
    assert job_of(JOB, [ended, pod()]).last_pod_ended_at is None
    assert job_of(JOB, []).last_pod_ended_at is None
    late = pod(ended_at="2026-01-02T03:04:11Z")
    assert job_of(JOB, [late, ended]).last_pod_ended_at == datetime(2026, 1, 2, 3, 4, 11, tzinfo=UTC)


def test_a_queue_that_nobody_has_seen_yet_has_nothing_allocated() -> None:
    queue = queue_of({"name": "q", "capability": {"nvidia.com/gpu": "4"}, "observed": None})
    assert (queue.capability, queue.allocated, queue.pod_groups) == (4, 0, {})


def test_a_queue_is_read_in_gpus() -> None:
    observed = {"allocated": {"nvidia.com/gpu": "2", "cpu": "4"}, "pod_groups": {"running": 1}}
    queue = queue_of({"name": "q", "capability": {"nvidia.com/gpu": 2}, "observed": observed})
    assert (queue.allocated, queue.pod_groups) == (2, {"running": 1})


@pytest.mark.parametrize(
    ("progress", "percent"),
    [
        (None, None),
        ({"done": 0, "total": 0}, 0),
        ({"done": 0, "total": 3}, 0),
        ({"done": 2, "total": 3}, 66),
        ({"done": 3, "total": 3}, 100),
    ],
)
def test_how_far_a_job_is_is_read_in_percent(progress: dict[str, int] | None, percent: int | None) -> None:
    assert job_of(JOB | {"progress": progress}, []).percent == percent
