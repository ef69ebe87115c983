from dataclasses import replace
from typing import Any

import pytest

from app.simulator.volcano.policies import Decision, Request, choose_action


def _job(job_policies: list[Any] | None = None, task_policies: list[Any] | None = None, version: int = 0) -> Any:
    return {
        "metadata": {"uid": "u"},
        "spec": {"policies": job_policies or [], "tasks": [{"name": "w", "policies": task_policies or []}]},
        "status": {"version": version},
    }


FAILED = Request("n", "a", event="PodFailed", job_uid="u", task="w", exit_code=137)


@pytest.mark.parametrize(
    ("policies", "action"),
    [
        ([], "SyncJob"),
        ([{"event": "PodFailed", "action": "RestartJob"}], "RestartJob"),
        ([{"events": ["PodEvicted", "PodFailed"], "action": "RestartPod"}], "RestartPod"),
        ([{"event": "*", "action": "AbortJob"}], "AbortJob"),
        ([{"event": "PodEvicted", "action": "AbortJob"}, {"exitCode": 137, "action": "CompleteJob"}], "CompleteJob"),
        ([{"exitCode": 1, "action": "CompleteJob"}], "SyncJob"),
        ([{"event": "PodFailed", "action": "A"}, {"event": "*", "action": "B"}], "A"),
    ],
)
def test_first_policy_that_matches(policies: list[Any], action: str) -> None:
    assert choose_action(_job(policies), FAILED) == Decision(action)
    assert choose_action(_job([{"event": "*", "action": "Never"}], policies), FAILED).action in (action, "Never")


def test_task_policies_go_first() -> None:
    job = _job([{"event": "*", "action": "AbortJob"}], [{"event": "PodFailed", "action": "RestartTask"}])
    assert choose_action(job, FAILED).action == "RestartTask"
    assert choose_action(job, replace(FAILED, task="other")).action == "AbortJob"


@pytest.mark.parametrize("event", ["OutOfSync", "CommandIssued", "PodRunning"])
def test_internal_events_match_nothing(event: str) -> None:
    job = _job([{"event": "*", "action": "AbortJob"}])
    assert choose_action(job, replace(FAILED, event=event)) == Decision("SyncJob")


def test_events_of_earlier_runs_match_nothing() -> None:
    policies = [{"event": "*", "action": "AbortJob"}]
    assert choose_action(_job(policies, version=2), replace(FAILED, job_version=1)).action == "SyncJob"
    assert choose_action(_job(policies, version=2), replace(FAILED, job_version=2)).action == "AbortJob"
    assert choose_action(_job(policies), replace(FAILED, job_uid="older")).action == "SyncJob"


def test_command_needs_no_policy() -> None:
    request = Request("n", "a", event="CommandIssued", action="TerminateJob")
    assert choose_action(_job(version=7), request) == Decision("TerminateJob")


def test_pending_pod_needs_a_timeout() -> None:
    pending = replace(FAILED, event="PodPending", exit_code=0)
    assert choose_action(_job([{"event": "*", "action": "AbortJob"}]), pending).action == "SyncJob"
    timed = [{"event": "PodPending", "action": "AbortJob", "timeout": "1m30s"}]
    assert choose_action(_job(timed), pending) == Decision("AbortJob", 90.0)
