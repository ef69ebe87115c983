"""`pumice demo --json`: the mission's scenario with everything started by one command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil


def test_the_demo_proves_the_scenario_and_leaves_nothing_behind(start: Callable[..., Any], tmp_path: Path) -> None:
    demo = start("demo", "--json", "--seconds", "2", TMPDIR=str(tmp_path))
    demo.until_line("^{", 110)
    told = json.loads(demo.lines[-1])
    assert demo.finish(30) == 0, demo.errors.read_text()
    assert [check["check"] for check in told["checks"] if not check["ok"]] == []
    assert told["ok"] is True
    assert {job["name"]: job["state"] for job in told["jobs"]} == dict.fromkeys(
        ("low-a", "low-b", "high-a", "high-b"), "succeeded"
    )
    assert all(job["nodes"] and job["started_at"] < job["ended_at"] for job in told["jobs"])
    assert {queue["name"]: queue["capability"] for queue in told["queues"]} == {"high-priority": 4, "low-priority": 2}
    assert len(demo.lines) == 1  # one JSON object and nothing else
    assert list(tmp_path.glob("pumice-demo-*")) == []
    left = [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
    assert left == []


def test_the_demo_plays_on_a_service_that_runs_already(start: Callable[..., Any], tmp_path: Path) -> None:
    up = start("up", "--port", "0", "--data-dir", str(tmp_path / "data"), "--admin-token", "of-the-test")
    service = up.until_ready()
    for _ in range(2):  # the second time queues and teams are there already
        demo = start("demo", "--url", service.url, "--token", "of-the-test", "--seconds", "1")
        demo.until_line("What this proves", 100)
        assert demo.finish(30) == 0, demo.errors.read_text()
    tokens = service.get("/v1/tokens")["items"]
    assert tokens
    assert all(token["revoked_at"] for token in tokens)  # it leaves none behind that works


def test_a_service_that_is_not_there_is_one_sentence(start: Callable[..., Any]) -> None:
    demo = start("demo", "--url", "http://127.0.0.1:1", "--token", "any")
    assert demo.finish(30) == 1
    assert demo.errors.read_text().splitlines() == ["pumice: POST /v1/queues got no answer (ConnectError)."]
