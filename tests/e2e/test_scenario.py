"""What a pipeline relies on, over HTTP only: the mission's scenario, quota, cancel and repeated submission."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def service(start: Callable[..., Any], tmp_path: Path) -> Any:
    return start("up", "--port", "0", "--data-dir", str(tmp_path / "data"), "--speed", "2").until_ready()


def test_high_priority_goes_first_and_low_priority_waits_and_starts_by_itself(service: Any) -> None:
    service.team("batch", "low-priority", gpus=2)
    service.team("online", "high-priority", gpus=4)
    names = {"low-a": ("batch", 2), "low-b": ("batch", 2), "high-a": ("online", 4), "high-b": ("online", 2)}
    ids = {name: service.submit(team, name, 8, gpus) for name, (team, gpus) in names.items()}

    service.until(f"/v1/jobs/{ids['high-a']}", lambda job: job["state"] == "running")
    waiting = service.until(f"/v1/jobs/{ids['low-b']}", lambda job: job["reason"] is not None)
    assert waiting["state"] in {"held", "pending"}
    service.until("/v1/queues/low-priority", lambda queue: _allocated(queue) == 2)

    for identity in ids.values():
        assert service.ended(identity)["state"] == "succeeded"
    pods = {name: service.get(f"/v1/jobs/{identity}/pods")["items"] for name, identity in ids.items()}
    assert {name: len(found) for name, found in pods.items()} == {name: gpus for name, (_, gpus) in names.items()}
    assert all(pod["node"] for found in pods.values() for pod in found)
    assert max(_times(pods["low-a"], "ended_at")) <= min(_times(pods["low-b"], "started_at"))
    assert max(_times(pods["high-a"], "started_at")) < min(_times(pods["low-b"], "started_at"))
    for queue in ("low-priority", "high-priority"):
        service.until(f"/v1/queues/{queue}", lambda body: _allocated(body) == 0)


def test_a_gang_that_does_not_fit_takes_no_gpu_and_a_cancelled_job_frees_its_own(service: Any) -> None:
    service.team("nlp", "q-nlp", gpus=4)
    first = service.submit("nlp", "first", 600, gpus=3)
    service.until(f"/v1/jobs/{first}", lambda job: job["state"] == "running")
    second = service.submit("nlp", "second", 2, gpus=2)
    service.until(f"/v1/jobs/{second}", lambda job: job["state"] == "pending" and job["reason"] is not None)
    assert service.get(f"/v1/jobs/{second}")["counts"]["running"] == 0
    assert service.made("POST", f"/v1/jobs/{first}/cancel", {"reason": "wrong input"})["id"] == first
    cancelled = service.ended(first)
    assert (cancelled["state"], cancelled["cancel_reason"]) == ("cancelled", "wrong input")
    assert service.ended(second)["state"] == "succeeded"
    kept = service.get(f"/v1/jobs/{first}/events")["items"]
    assert [event["state"] for event in kept][-1] == "cancelled"


def test_quota_and_repeated_submission(service: Any) -> None:
    service.team("nlp", "q-nlp", gpus=2)
    token = service.made(
        "POST", "/v1/tokens", {"name": "pipeline", "subject": "u-nlp", "team": "nlp", "role": "submitter"}
    )["token"]
    as_pipeline = {"Authorization": f"Bearer {token}"}
    task = {"name": "worker", "replicas": 2, "image": "busybox:1.36", "command": ["sleep", "1"]}
    body = {"name": "once", "tasks": [task | {"resources": {"gpus": 1}}]}
    path = "/v1/teams/nlp/jobs"
    key = {"Idempotency-Key": "k-1"}
    first, again = (service.call("POST", path, body, **as_pipeline, **key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.json()["id"] == again.json()["id"]

    too_many = {"name": "big", "tasks": [task | {"replicas": 3, "resources": {"gpus": 1}}]}
    never = service.call("POST", path, too_many, **as_pipeline)
    assert (never.status_code, never.json()["type"].rpartition("/")[2]) == (422, "job-never-fits")
    half = {"name": "half", "tasks": [task | {"resources": {"gpus": 0.5}}]}
    assert service.call("POST", path, half, **as_pipeline).status_code == 422
    assert service.call("POST", "/v1/queues", {"name": "q"}, **as_pipeline).status_code == 403

    assert service.ended(first.json()["id"])["state"] == "succeeded"
    assert service.get("/v1/teams/nlp/quota")["usage"]["nvidia.com/gpu"]["used"] == 0


def _allocated(queue: Any) -> int:
    return int((queue["observed"] or {}).get("allocated", {}).get("nvidia.com/gpu", 0))


def _times(pods: Any, field: str) -> list[datetime]:
    return [datetime.fromisoformat(pod[field]) for pod in pods]
