"""What `decide` makes of a row and the cluster; the ids in comments are those of the cases and recorded traces."""

from datetime import timedelta
from typing import Any

import pytest

from app.cluster.observed import Counts as StatusCounts
from app.controller.decide import decide
from app.controller.facts import Absence, Action, Counts
from app.jobs.states import JobState
from tests.unit.controller.situations import NOW, UID, ago, group, pod, row, situation, volcano_job


@pytest.mark.parametrize(
    ("phase", "pods", "state", "reason"),
    [
        ("", [], "pending", "NotPickedUp"),  # S-19: after 60 s
        ("Pending", [], "pending", "NotPickedUp"),  # S-15: no PodGroup
        ("Pending", ["Pending", "Pending"], "pending", None),
        ("Pending", ["Running", "Pending"], "running", None),
        ("Running", ["Running", "Running"], "running", None),
        ("Running", ["Pending", "Pending"], "pending", "PodsPending"),  # S-13 a
        ("Pending", ["Succeeded", "Pending"], "running", None),  # S-13 b
        ("Running", ["Failed", "Running"], "running", None),  # trace 06: no policy, goes on
        ("Restarting", ["Failed", "Pending"], "pending", "Restarting"),
        ("Completed", ["Succeeded", "Succeeded"], "succeeded", None),
        ("Completed", ["Succeeded", "Running"], "pending", None),  # the news about the pod has not come yet
        ("Completed", [], "succeeded", None),  # both were needed, so both succeeded
        ("Failed", ["Succeeded", "Failed"], "failed", "Error"),
        ("Failed", [], "failed", "Failed"),
        ("Terminated", [], "failed", "Terminated"),
        ("Aborted", [], "failed", "Aborted"),
    ],
)
def test_phase_and_pods_make_the_state(phase: str, pods: list[str], state: str, reason: str | None) -> None:
    shown = [pod(index, each) for index, each in enumerate(pods)]
    decision = decide(situation(row(), volcano_job(phase), *shown))
    assert (decision.state, decision.reason) == (state, reason)


def test_counts_come_from_pods_and_succeeded_never_falls() -> None:  # S-12
    job = row(replicas=4, min_available=1, state=JobState.RUNNING, counts=Counts(succeeded=3, running=1))
    finished = volcano_job("Running", counts=StatusCounts(succeeded=2))
    decision = decide(situation(job, finished, pod(3, "Running"), pod(2, "Succeeded")))
    assert decision.counts == Counts(succeeded=3, running=1)


def test_counters_that_volcano_cleared_at_the_end_do_no_harm() -> None:  # trace 12: version 1 has no counters
    job = row(state=JobState.RUNNING, counts=Counts(running=2))
    decision = decide(situation(job, volcano_job("Completed"), pod(0, "Succeeded"), pod(1, "Succeeded")))
    assert decision.counts == Counts(succeeded=2)


@pytest.mark.parametrize(
    ("min_success", "state", "reason"), [(None, "failed", "PartialSuccess"), (1, "succeeded", None)]
)
def test_partial_success_is_not_success_unless_allowed(min_success: int | None, state: str, reason: str | None) -> None:
    job = row(replicas=3, min_available=1, min_success=min_success)  # S-18
    decision = decide(situation(job, volcano_job("Completed"), pod(0, "Succeeded"), pod(1, "Failed"), pod(2, "Failed")))
    assert (decision.state, decision.reason) == (state, reason)
    assert decision.counts == Counts(succeeded=1, failed=2)


@pytest.mark.parametrize("reason", ["OOMKilled", "Error", "DeadlineExceeded"])
def test_a_failure_has_the_pods_own_reason(reason: str) -> None:  # S-16
    failed = pod(1, "Failed", reason=reason, exit_code=137, message="its words")
    decision = decide(situation(row(), volcano_job("Failed"), pod(0, "Succeeded"), failed))
    assert decision.reason == reason
    assert decision.message == "Pod a-worker-1 on gpu-1 failed with exit code 137: its words"


def test_a_failure_is_explained_by_a_pod_that_is_gone() -> None:  # H-04
    recorded = pod(0, "Failed", attempt=3, gone=True, reason="OOMKilled")
    older = pod(0, "Failed", uid="older", attempt=1, gone=True, reason="Error", ended_at=ago(80))
    decision = decide(situation(row(attempt=3), volcano_job("Failed", retry_count=2), older, recorded))
    assert (decision.state, decision.reason, decision.attempt) == ("failed", "OOMKilled", 3)


def test_attempts_follow_the_retry_count_and_never_fall() -> None:
    assert decide(situation(row(attempt=1), volcano_job(retry_count=2))).attempt == 3
    assert decide(situation(row(attempt=3), volcano_job(retry_count=0))).attempt == 3


def test_pods_of_a_run_that_was_not_allowed_are_no_attempt_and_hide_no_failure() -> None:
    failed = pod(0, "Failed", uid="third", attempt=3, gone=True, reason="Error", exit_code=1)
    surplus = pod(0, "Pending", uid="fourth", attempt=4, gone=True)
    decision = decide(situation(row(attempt=3), volcano_job("Failed", retry_count=3), failed, surplus))
    assert (decision.state, decision.reason, decision.attempt) == ("failed", "Error", 3)
    assert decision.counts.failed == 1


def test_the_retry_that_volcano_counted_and_did_not_make_is_no_attempt() -> None:  # trace 07
    last = pod(0, "Failed", attempt=2)
    for phase in ("Restarting", "Failed"):
        assert decide(situation(row(attempt=2), volcano_job(phase, retry_count=2), last)).attempt == 2


def test_pending_says_why_and_running_says_nothing() -> None:  # S-15
    words = group(condition="Unschedulable", message="2/2 tasks in gang unschedulable")
    waiting = decide(situation(row(), volcano_job(), pod(0, "Pending"), pod_group=words))
    assert (waiting.reason, waiting.message) == ("Unschedulable", "2/2 tasks in gang unschedulable")
    running = row(state=JobState.PENDING, reason=waiting.reason, message=waiting.message)
    decision = decide(situation(running, volcano_job("Running"), pod(0), pod(1), pod_group=words))
    assert (decision.state, decision.reason, decision.message) == ("running", None, None)


def test_a_closed_queue_and_an_image_that_cannot_be_pulled_are_reasons() -> None:
    assert decide(situation(row(), volcano_job(), queue_state="Closing")).reason == "QueueNotOpen"
    stuck = pod(0, "Pending", reason="ImagePullBackOff", message="Back-off pulling image")
    decision = decide(situation(row(), volcano_job("Pending"), stuck))
    assert (decision.reason, decision.message) == ("ImagePullBackOff", "Back-off pulling image")


def test_an_unknown_phase_changes_nothing_but_the_message() -> None:  # S-07
    decision = decide(situation(row(state=JobState.RUNNING), volcano_job("Suspended2"), pod(0)))
    assert decision.state == "running"
    assert "Suspended2" in str(decision.message)
    assert decision.strange_phase


def test_a_job_that_volcano_just_got_is_looked_at_again() -> None:
    decision = decide(situation(row(), volcano_job("", created_at=ago(1))))
    assert (decision.state, decision.reason, decision.look_again_seconds) == ("pending", None, 60)


def test_a_claimed_job_that_is_seen_is_adopted() -> None:
    job = row(state=JobState.SUBMITTING, k8s_uid=None, attempt=0, submitted_at=None)
    decision = decide(situation(job, volcano_job()))
    assert (decision.state, decision.k8s_uid, decision.attempt) == ("pending", UID, 1)


def test_times_are_cut_so_that_no_duration_is_negative() -> None:  # S-22
    early = pod(0, "Succeeded", started_at=ago(130), ended_at=ago(120))
    decision = decide(situation(row(), volcano_job("Completed"), early))
    assert decision.started_at == ago(100)
    assert decision.ended_at == ago(100)
    ahead = pod(0, "Succeeded", ended_at=NOW + timedelta(seconds=30))
    assert decide(situation(row(), volcano_job("Completed"), ahead)).ended_at == NOW


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.RUNNING])
def test_absence_is_believed_only_after_a_get(state: JobState) -> None:  # S-10
    job = row(state=state)
    assert decide(situation(job)).actions == ()
    unseen = decide(situation(job, absence=Absence.UNSEEN))
    assert (unseen.state, unseen.actions) == (state, (Action.CONFIRM_ABSENCE,))
    lost = decide(situation(job, absence=Absence.CONFIRMED))
    assert (lost.state, lost.reason, lost.ended_at) == ("lost", "Deleted", NOW)


def test_pods_that_were_seen_to_succeed_are_evidence_of_success() -> None:  # S-10, variant
    job = row(state=JobState.RUNNING, counts=Counts(succeeded=2))
    assert decide(situation(job, absence=Absence.CONFIRMED)).state == "succeeded"
    recorded = [pod(index, "Succeeded", gone=True) for index in range(2)]
    decision = decide(situation(row(state=JobState.RUNNING), None, *recorded, absence=Absence.CONFIRMED))
    assert (decision.state, decision.ended_at) == ("succeeded", ago(10))


def test_a_job_deleted_by_hand_while_it_runs_is_lost() -> None:  # trace 14
    decision = decide(situation(row(state=JobState.RUNNING), volcano_job("Running", deleting=True), pod(0), pod(1)))
    assert decision.state == "lost"
    assert "outside this service" in str(decision.message)


def test_a_job_deleted_after_its_end_keeps_its_end() -> None:  # trace 13
    job = row(state=JobState.RUNNING)
    decision = decide(situation(job, volcano_job("Completed", deleting=True), pod(0, "Succeeded"), pod(1, "Succeeded")))
    assert decision.state == "succeeded"
    unseen_end = volcano_job("Running", deleting=True)
    assert decide(situation(job, unseen_end, pod(0, "Succeeded"), pod(1, "Failed"))).state == "failed"


def test_a_held_job_is_left_alone() -> None:
    held = row(state=JobState.HELD, k8s_uid=None)
    decision = decide(situation(held, absence=Absence.CONFIRMED))
    assert (decision.state, decision.actions) == ("held", ())


def test_pods_that_were_killed_ended_when_volcano_finished_the_job() -> None:
    killed = pod(1, "Running", gone=True)
    stopped = volcano_job("Aborted", last_transition_at=ago(7))
    assert decide(situation(row(), stopped, killed)).ended_at == ago(7)
    early = pod(0, "Succeeded", ended_at=ago(30))
    assert decide(situation(row(), stopped, early, killed)).ended_at == ago(7)
    # a later kill of a finished Job moves the stamp; where all ends are known it is not asked
    assert decide(situation(row(), volcano_job("Completed", last_transition_at=ago(1)), early)).ended_at == ago(30)
    earlier_run = pod(0, "Running", uid="earlier", gone=True, attempt=1)
    last_run = pod(0, "Failed", attempt=2, ended_at=ago(20))
    failed = volcano_job("Failed", last_transition_at=ago(1))
    assert decide(situation(row(replicas=1), failed, earlier_run, last_run)).ended_at == ago(20)
    unread = volcano_job("Aborted", last_transition_at=None)
    assert decide(situation(row(), unread, killed)).ended_at == NOW
    never_ran = volcano_job("Aborted", last_transition_at=ago(200))
    assert decide(situation(row(), never_ran)).ended_at == ago(100)  # never before it was submitted


def test_pods_that_no_scheduler_looks_at_are_told_of_after_a_minute() -> None:
    def why(created: float, **facts: Any) -> str | None:
        waiting = pod(0, "Pending", created_at=ago(created), **{"node": None, **facts})
        return decide(situation(row(), volcano_job("Pending"), waiting, pod_group=group("Inqueue"))).reason

    assert why(created=61) == "NotPickedUp"
    assert why(created=59) is None
    assert why(created=61, node="gpu-1") is None
    assert why(created=61, reason="Schedulable") is None
    bound = situation(row(), volcano_job("Pending"), pod(0, "Pending"), pod_group=group("Pending"))
    assert decide(bound).reason == "WaitingForQueue"
