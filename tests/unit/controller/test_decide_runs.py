"""How a run of a job is brought to an end, and how the next one begins."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.controller.decide import decide
from app.controller.facts import KILLED, Absence, Action, Counts, JobFacts, NextRun, PodFacts
from app.controller.plan import JobPlan, TaskPlan
from app.jobs.states import Desired, Ending, JobState
from tests.unit.controller.situations import NOW, ago, pod, row, situation, volcano_job

SHARDS = JobPlan((TaskPlan("worker", range(3), 3),), independent=True, retries=1)
GANG = JobPlan((TaskPlan("worker", range(2), 2),), retries=1)


def gone(job: JobFacts, *pods: PodFacts) -> Any:
    """Decide about a job whose Volcano Job is surely not there any more."""
    return decide(replace(situation(job, None, *pods), absence=Absence.CONFIRMED))


def suspending(**facts: Any) -> JobFacts:
    return row(state=JobState.SUSPENDING, desired=Desired.SUSPEND, reason="SuspendedByUser", **facts)


@pytest.mark.parametrize("phase", ["Pending", "Running", ""])
def test_a_suspended_job_is_aborted_in_volcano(phase: str) -> None:
    decision = decide(situation(suspending(), volcano_job(phase), pod(0)))
    assert (decision.state, decision.actions) == ("suspending", (Action.ABORT,))


def test_it_is_suspended_when_its_last_pod_and_its_volcano_job_are_gone() -> None:  # C-03
    job = suspending(plan=GANG)
    alive = decide(situation(job, volcano_job("Aborted"), pod(0, deleting=True)))
    assert (alive.state, alive.actions) == ("suspending", ())
    assert "a-worker-0 on gpu-1" in (alive.message or "")
    over = decide(situation(job, volcano_job("Aborted"), pod(0, gone=True)))
    assert (over.state, over.actions) == ("suspending", (Action.RELEASE_FINALIZER, Action.DELETE))
    deleting = decide(situation(job, volcano_job("Aborted", deleting=True, finalizers=()), pod(0, gone=True)))
    assert (deleting.state, deleting.actions) == ("suspending", ())
    ended = gone(job, pod(0, gone=True))
    assert (ended.state, ended.reason, ended.k8s_uid) == ("suspended", "SuspendedByUser", None)


@pytest.mark.parametrize(("phase", "state"), [("Completed", "succeeded"), ("Failed", "failed")])
def test_what_ends_before_it_is_suspended_has_ended(phase: str, state: str) -> None:
    kind = "Succeeded" if phase == "Completed" else "Failed"
    decision = decide(situation(suspending(), volcano_job(phase), pod(0, kind), pod(1, kind)))
    assert decision.state == state


def test_a_failed_run_that_would_run_again_can_be_suspended() -> None:
    decision = decide(situation(suspending(plan=GANG), volcano_job("Failed"), pod(0, "Failed"), pod(1, "Succeeded")))
    assert (decision.state, decision.actions) == ("suspending", (Action.RELEASE_FINALIZER, Action.DELETE))


def test_the_run_time_of_a_suspended_job_is_kept() -> None:  # H-07
    job = suspending(plan=GANG, run_started_at=ago(40), started_at=ago(40), ran_seconds=100.0)
    ended = gone(job, pod(0, "Failed", ended_at=ago(10), gone=True), pod(1, "Failed", ended_at=ago(20), gone=True))
    assert ended.next_run == NextRun(None, anew=True, ran_seconds=130.0)


def test_a_job_that_was_resumed_before_it_was_suspended_waits_for_quota() -> None:
    decision = decide(situation(row(state=JobState.SUSPENDED, desired=Desired.RUN, k8s_uid=None), None))
    assert (decision.state, decision.reason) == ("held", "QuotaExceeded")
    rests = decide(situation(row(state=JobState.SUSPENDED, desired=Desired.SUSPEND, k8s_uid=None), None))
    assert rests.state == "suspended"


def test_only_what_has_not_ended_runs_after_a_suspension() -> None:
    job = suspending(plan=replace(SHARDS, retries=0), replicas=3)
    pods = (
        pod(0, "Succeeded", gone=True),
        pod(1, "Failed", gone=True, reason=KILLED),
        pod(2, "Failed", gone=True),
    )
    ended = gone(job, *pods)
    assert ended.next_run.run_indices == {"worker": [1]}
    assert ended.counts == Counts(succeeded=1, failed=1)


def test_a_failed_gang_is_stopped_and_runs_again_with_a_volcano_job_of_its_own() -> None:
    running = row(state=JobState.RUNNING, plan=GANG, started_at=ago(50), run_started_at=ago(50))
    decision = decide(situation(running, volcano_job("Running"), pod(0, "Failed"), pod(1)))
    assert (decision.state, decision.reason, decision.ending) == ("pending", "Restarting", "restart-whole")
    assert (decision.retries, decision.actions) == (1, (Action.TERMINATE,))
    assert decision.message == "Pod a-worker-0 on gpu-1 failed with exit code 3. It runs again."
    ending = replace(running, state=JobState.PENDING, ending=Ending.RESTART_WHOLE, retries=1)
    stopped = decide(situation(ending, volcano_job("Terminated"), pod(0, "Failed"), pod(1, gone=True)))
    assert stopped.actions == (Action.RELEASE_FINALIZER, Action.DELETE)
    ended = gone(ending, pod(0, "Failed", gone=True), pod(1, gone=True))
    assert (ended.state, ended.reason, ended.ending, ended.run_started_at) == ("held", "WaitingForRelease", None, None)
    assert ended.next_run.run_indices is None
    assert (ended.counts, ended.attempt, ended.retries) == (Counts(), 1, 1)


def test_the_object_of_a_run_that_is_over_is_kept_until_that_is_written() -> None:
    failed = decide(situation(row(plan=GANG), volcano_job("Failed"), pod(0, "Failed"), pod(1, "Failed")))
    assert (failed.state, failed.ending) == ("pending", "restart-whole")
    assert Action.DELETE not in failed.actions
    assert Action.RELEASE_FINALIZER not in failed.actions


def test_shards_run_again_one_by_one_while_their_volcano_job_lives() -> None:
    job = row(state=JobState.RUNNING, plan=SHARDS, replicas=3)
    decision = decide(situation(job, volcano_job("Running"), pod(0, "Succeeded"), pod(1, "Failed"), pod(2)))
    assert (decision.state, decision.actions) == ("running", (Action.DELETE_PODS,))
    assert [each.index for each in decision.to_delete] == [1]
    again = decide(situation(job, volcano_job("Running"), pod(0, "Succeeded"), pod(1, "Failed", deleting=True), pod(2)))
    assert again.actions == ()


def test_shards_that_failed_last_run_again_alone_in_another_volcano_job() -> None:
    job = row(state=JobState.RUNNING, plan=SHARDS, replicas=3, min_available=1)
    pods = (pod(0, "Succeeded"), pod(1, "Failed"), pod(2, "Succeeded"))
    decision = decide(situation(job, volcano_job("Completed"), *pods))
    assert (decision.state, decision.ending, decision.retries) == ("pending", "restart", 0)
    ending = replace(job, state=JobState.PENDING, ending=Ending.RESTART)
    ended = gone(ending, *(replace(each, gone=True) for each in pods))
    assert ended.next_run.run_indices == {"worker": [1]}
    assert ended.counts == Counts(succeeded=2)


@pytest.mark.parametrize(
    ("again", "state", "reason"), [("Succeeded", "succeeded", None), ("Failed", "failed", "PartialSuccess")]
)
def test_the_last_run_of_some_shards_ends_the_job(again: str, state: str, reason: str | None) -> None:
    job = row(
        plan=SHARDS, replicas=3, min_available=1, attempt=2, attempt_base=1, run_indices={"worker": [1]},
        counts=Counts(succeeded=2),
    )  # fmt: skip
    earlier = (
        pod(0, "Succeeded", gone=True),
        pod(1, "Failed", uid="first", gone=True, created_at=ago(90)),
        pod(2, "Succeeded", gone=True),
    )
    last = pod(1, again, name="a-r1-worker-0", attempt=2)
    decision = decide(situation(job, volcano_job("Completed" if again == "Succeeded" else "Failed"), *earlier, last))
    assert (decision.state, decision.reason) == (state, reason)
    assert decision.counts == Counts(succeeded=3) if again == "Succeeded" else Counts(succeeded=2, failed=1)


@pytest.mark.parametrize(("ran", "over"), [(59, False), (60, True), (3_000, True)])
def test_a_job_ends_when_it_has_run_for_as_long_as_it_may(ran: int, over: bool) -> None:
    plan = replace(GANG, run_timeout_seconds=160)
    job = row(state=JobState.RUNNING, plan=plan, started_at=ago(ran), run_started_at=ago(ran), ran_seconds=100.0)
    decision = decide(situation(job, volcano_job("Running"), pod(0), pod(1)))
    if not over:
        assert (decision.ending, decision.look_again_seconds) == (None, 1.0)
        return
    assert (decision.state, decision.reason, decision.ending) == ("running", "DeadlineExceeded", "DeadlineExceeded")
    assert decision.actions == (Action.TERMINATE,)
    ending = replace(job, ending=Ending.DEADLINE_EXCEEDED, reason="DeadlineExceeded")
    killed = [pod(index, "Failed", reason=KILLED, ended_at=NOW) for index in (0, 1)]
    ended = decide(situation(ending, volcano_job("Terminated"), *killed))
    assert (ended.state, ended.reason, ended.ended_at) == ("failed", "DeadlineExceeded", NOW)
    assert ended.message == f"The job ran for {ran + 100} seconds; its run_timeout_seconds is 160."


@pytest.mark.parametrize(("seconds", "over"), [(1, False), (0, True), (-500, True)])
def test_a_job_ends_when_no_pod_started_in_time(seconds: int, over: bool) -> None:
    plan = replace(GANG, queue_timeout_seconds=60)
    job = row(plan=plan, queue_deadline_at=NOW + timedelta(seconds=seconds))
    decision = decide(situation(job, volcano_job("Pending"), pod(0, "Pending")))
    assert (decision.ending is not None) is over
    assert (Action.TERMINATE in decision.actions) is over
    ended = decide(situation(replace(job, ending=Ending.QUEUE_TIMEOUT), volcano_job("Terminated")))
    assert (ended.state, ended.reason) == ("failed", "QueueTimeout")
    assert ended.message == "No pod of the job started within its queue_timeout_seconds of 60."


def test_a_pod_that_has_started_ends_the_waiting() -> None:
    job = row(plan=replace(GANG, queue_timeout_seconds=60), queue_deadline_at=ago(5))
    decision = decide(situation(job, volcano_job("Running"), pod(0), pod(1, "Pending")))
    assert (decision.state, decision.ending) == ("running", None)


ARRAY = JobPlan((TaskPlan("worker", range(5), 2),), independent=True)
GATED = {"gates": ("pumice.dev/turn",), "node": None}


@pytest.mark.parametrize(
    ("pods", "admitted"),
    [
        ([], [0, 1]),
        ([pod(0)], [1]),
        ([pod(0), pod(1)], []),
        ([pod(0, "Succeeded"), pod(1)], [2]),
        ([pod(0, "Failed"), pod(1, "Succeeded")], [2, 3]),
        ([pod(0, deleting=True), pod(1)], []),
        ([pod(0, "Pending"), pod(1, "Unknown")], []),
    ],
)
def test_an_array_lets_the_lowest_indices_go_as_there_is_room(pods: list[PodFacts], admitted: list[int]) -> None:
    there = {each.index for each in pods}
    waiting = [pod(index, "Pending", **GATED) for index in range(5) if index not in there]
    decision = decide(situation(row(plan=ARRAY, replicas=5, min_available=1), volcano_job("Running"), *pods, *waiting))
    assert [each.index for each in decision.to_admit] == admitted
    assert (Action.ADMIT_PODS in decision.actions) is bool(admitted)


def test_nothing_is_let_go_of_a_run_that_is_brought_to_an_end() -> None:
    job = row(plan=ARRAY, replicas=5, ending=Ending.RESTART)
    decision = decide(situation(job, volcano_job("Running"), pod(0, "Pending", **GATED)))
    assert (decision.to_admit, decision.actions) == ((), (Action.TERMINATE,))


def test_a_pod_that_others_gate_too_is_let_go_by_us() -> None:
    gated = pod(0, "Pending", gates=("example.com/other", "pumice.dev/turn"), node=None)
    (admitted,) = decide(situation(row(plan=ARRAY, replicas=5), volcano_job("Pending"), gated)).to_admit
    assert admitted.gates == ("example.com/other", "pumice.dev/turn")
