"""Every row of the Job's state machine (volcano-facts 2.3)."""

from typing import Any

import pytest

from app.simulator.volcano.job_states import RETAIN_ENDED, RETAIN_NONE, Effect, transition

SPEC = {"minAvailable": 2, "maxRetry": 3, "tasks": [{"name": "w", "replicas": 3, "minAvailable": 2}]}
TARGETED = ("RestartTask", "RestartPod", "RestartPartition")


def _next(phase: str, action: str, status: dict[str, Any] | None = None, spec: dict[str, Any] = SPEC) -> str | None:
    return transition(phase, action).next_phase(spec, {"minAvailable": 2, **(status or {})})


@pytest.mark.parametrize("phase", ["", "Pending", "Running"])
@pytest.mark.parametrize(
    ("action", "after", "retain", "counts"),
    [
        ("RestartJob", "Restarting", RETAIN_NONE, True),
        ("AbortJob", "Aborting", RETAIN_ENDED, False),
        ("TerminateJob", "Terminating", RETAIN_ENDED, False),
        ("CompleteJob", "Completing", RETAIN_ENDED, False),
    ],
)
def test_actions_on_an_active_job(phase: str, action: str, after: str, retain: frozenset[str], counts: bool) -> None:
    step = transition(phase, action)
    assert (step.effect, step.retain, step.counts) == (Effect.KILL, retain, counts)
    assert _next(phase, action) == after


@pytest.mark.parametrize("action", TARGETED)
def test_targeted_restart_kills_its_target_only(action: str) -> None:
    step = transition("Running", action)
    assert (step.effect, step.counts, _next("Running", action)) == (Effect.KILL_TARGET, True, "Restarting")
    again = transition("Restarting", action)
    assert (again.effect, again.counts) == (Effect.KILL_TARGET, False)


@pytest.mark.parametrize(
    ("status", "after"),
    [
        ({}, None),
        ({"running": 1, "pending": 2}, None),
        ({"running": 1, "failed": 1}, "Running"),
        ({"succeeded": 2}, "Running"),
    ],
)
def test_pending_becomes_running_with_the_gangs_minimum(status: dict[str, Any], after: str | None) -> None:
    assert _next("Pending", "SyncJob", status) == after


@pytest.mark.parametrize(
    ("status", "after"),
    [
        ({"running": 3}, None),
        ({"running": 1, "pending": 1, "terminating": 1}, None),
        ({"running": 1, "pending": 2}, "Pending"),
        ({"succeeded": 2, "running": 1}, None),
        ({"succeeded": 3}, "Completed"),
        ({"succeeded": 2, "failed": 1, "taskStatusCount": {"w": {"phase": {"Succeeded": 2}}}}, "Completed"),
        ({"succeeded": 1, "failed": 2, "taskStatusCount": {"w": {"phase": {"Succeeded": 1}}}}, "Failed"),
        ({"succeeded": 1, "failed": 2}, "Failed"),
    ],
)
def test_running_is_judged_when_every_pod_has_ended(status: dict[str, Any], after: str | None) -> None:
    assert _next("Running", "SyncJob", status) == after


@pytest.mark.parametrize(
    ("status", "after"),
    [({"succeeded": 1, "running": 2}, "Completed"), ({"failed": 3}, "Failed"), ({"running": 3}, None)],
)
def test_min_success_ends_a_job_early(status: dict[str, Any], after: str | None) -> None:
    assert _next("Running", "SyncJob", status, {**SPEC, "minSuccess": 1}) == after


def test_job_without_pods_stays_running() -> None:
    spec = {"minAvailable": 0, "tasks": [{"name": "w", "replicas": 0, "minAvailable": 0}]}
    assert _next("Pending", "SyncJob", {}, spec) == "Running"
    assert _next("Running", "SyncJob", {}, spec) is None


@pytest.mark.parametrize(
    ("status", "after"),
    [({"retryCount": 3}, "Failed"), ({"retryCount": 1, "terminating": 2}, None), ({"terminating": 1}, "Pending")],
)
def test_restarting(status: dict[str, Any], after: str | None) -> None:
    assert transition("Restarting", "SyncJob").effect is Effect.SYNC
    assert transition("Restarting", "AbortJob").effect is Effect.KILL
    assert _next("Restarting", "SyncJob", status) == after


@pytest.mark.parametrize(
    ("phase", "after"), [("Aborting", "Aborted"), ("Completing", "Completed"), ("Terminating", "Terminated")]
)
def test_killed_job_arrives_once_nothing_lives(phase: str, after: str) -> None:
    for counter in ("terminating", "pending", "running"):
        assert _next(phase, "SyncJob", {counter: 1}) is None
    assert _next(phase, "SyncJob", {"succeeded": 1, "failed": 1}) == after


@pytest.mark.parametrize("phase", ["Aborting", "Aborted"])
def test_resume_counts_as_a_retry(phase: str) -> None:
    step = transition(phase, "ResumeJob")
    assert (step.effect, step.counts, _next(phase, "ResumeJob")) == (Effect.KILL, True, "Restarting")
    assert transition("Aborted", "SyncJob").next_phase(SPEC, {}) is None


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated"])
@pytest.mark.parametrize("action", ["SyncJob", "RestartJob", "ResumeJob", "AbortJob"])
def test_finished_job_never_leaves(phase: str, action: str) -> None:
    step = transition(phase, action)
    assert (step.effect, step.counts, step.retain) == (Effect.KILL, False, RETAIN_ENDED)
    assert _next(phase, action) is None
