"""What a whole restart, a late create call and an end that comes in between do to a job of several runs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.controller.decide import decide
from app.controller.facts import KILLED, Absence, Action, Counts, NextRun
from app.controller.plan import JobPlan, Rule, TaskPlan
from app.jobs.states import Desired, Ending, JobState
from tests.unit.controller.situations import NOW, ago, pod, row, situation, volcano_job
from tests.unit.controller.test_decide_runs import GANG, SHARDS, gone, suspending

RESTART_ALL = (Rule(frozenset(), frozenset({"Error"}), "restart_job"),)


def test_what_failed_before_the_whole_job_began_anew_uses_up_no_further_retry() -> None:
    plan = replace(SHARDS, retries=3, rules=RESTART_ALL)
    job = row(plan=plan, replicas=3, attempt=2, attempt_base=1, whole_base=1, retries=1, state=JobState.PENDING)
    old = (pod(0, "Succeeded", gone=True), pod(2, "Failed", gone=True))
    for shown in (volcano_job(""), volcano_job("Running")):
        decision = decide(situation(job, shown, *old, pod(0, uid="new", attempt=2)))
        assert (decision.ending, decision.retries) == (None, 1)
        assert decision.counts == Counts(running=1)


def test_a_run_that_volcano_gives_up_is_not_begun_for_ever() -> None:
    job = row(
        plan=SHARDS, replicas=3, attempt=2, attempt_base=1, run_indices={"worker": [2]}, counts=Counts(succeeded=2)
    )
    old = (pod(0, "Succeeded", gone=True), pod(1, "Succeeded", gone=True), pod(2, "Failed", gone=True))
    decision = decide(situation(job, volcano_job("Terminated"), *old))
    assert (decision.state, decision.ending) == ("failed", None)


@pytest.mark.parametrize("plan", [SHARDS, replace(GANG, tasks=(TaskPlan("worker", range(3), 3),))])
def test_what_was_done_before_it_could_be_suspended_has_succeeded(plan: JobPlan) -> None:
    ended = gone(suspending(plan=plan, replicas=3), *(pod(index, "Succeeded", gone=True) for index in range(3)))
    assert (ended.state, ended.next_run, ended.counts) == ("succeeded", None, Counts(succeeded=3))


def test_a_suspended_job_of_which_nothing_is_left_to_run_has_ended() -> None:
    job = suspending(plan=replace(SHARDS, retries=0), replicas=3)
    ended = gone(job, *(pod(index, "Succeeded", gone=True) for index in (0, 1)), pod(2, "Failed", gone=True))
    assert (ended.state, ended.reason, ended.counts) == ("failed", "PartialSuccess", Counts(succeeded=2, failed=1))


def test_enough_successes_end_a_job_that_is_being_suspended() -> None:
    job = suspending(plan=SHARDS, replicas=3, min_success=1)
    ended = gone(job, pod(0, "Succeeded", gone=True), pod(1, "Failed", reason=KILLED, gone=True))
    assert ended.state == "succeeded"


def test_a_whole_job_that_begins_anew_has_no_successes_yet() -> None:
    job = row(
        plan=replace(SHARDS, rules=RESTART_ALL), replicas=3, min_success=3, state=JobState.PENDING, retries=1,
        ending=Ending.RESTART_WHOLE, counts=Counts(succeeded=2),
    )  # fmt: skip
    pods = (pod(0, "Succeeded", gone=True), pod(1, "Succeeded", gone=True), pod(2, "Failed", gone=True))
    ended = gone(job, *pods)
    assert ended.next_run == NextRun(None, anew=True, ran_seconds=30.0)
    assert (ended.counts, ended.retries) == (Counts(), 1)


def test_a_gang_ends_with_the_counts_of_its_last_run() -> None:
    job = row(plan=GANG, retries=1, attempt=2, attempt_base=1, whole_base=1, state=JobState.RUNNING)
    old = (pod(0, "Succeeded", gone=True), pod(1, "Failed", gone=True))
    new = (pod(0, "Failed", attempt=2, uid="n0"), pod(1, "Failed", attempt=2, uid="n1"))
    decision = decide(situation(job, volcano_job("Failed"), *old, *new))
    assert (decision.state, decision.counts) == ("failed", Counts(failed=2))


def test_pods_that_are_killed_because_enough_succeeded_make_nothing_run_again() -> None:
    plan = replace(SHARDS, rules=RESTART_ALL)
    job = row(plan=plan, replicas=3, min_success=2, state=JobState.RUNNING, run_started_at=ago(40))
    killed = pod(2, "Failed", exit_code=137, deleting=True)
    decision = decide(situation(job, volcano_job("Running"), pod(0, "Succeeded"), pod(1, "Succeeded"), killed))
    assert (decision.ending, decision.to_delete) == (None, ())


def test_a_shard_that_makes_the_whole_job_run_again_does_so_after_a_suspension() -> None:
    job = suspending(plan=replace(SHARDS, rules=RESTART_ALL), replicas=3)
    pods = (pod(0, "Succeeded", gone=True), pod(1, "Failed", gone=True), pod(2, "Failed", gone=True, reason=KILLED))
    ended = gone(job, *pods)
    assert (ended.state, ended.next_run.run_indices, ended.retries) == ("suspended", None, 1)


def test_a_gang_that_failed_while_it_was_suspended_has_used_a_retry_up() -> None:
    ended = gone(suspending(plan=GANG), pod(0, "Failed", gone=True), pod(1, "Failed", gone=True, reason=KILLED))
    assert (ended.state, ended.retries) == ("suspended", 1)
    restarting = suspending(plan=GANG, ending=Ending.RESTART_WHOLE, retries=1)
    assert gone(restarting, pod(0, "Failed", gone=True), pod(1, gone=True)).retries == 1


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_create_call_that_comes_through_late_is_undone_while_the_job_is_suspended(phase: str) -> None:
    job = row(state=JobState.SUSPENDED, desired=Desired.SUSPEND, k8s_uid=None)
    decision = decide(situation(job, volcano_job(phase)))
    assert (decision.state, decision.k8s_uid, decision.actions) == ("suspended", None, (Action.ABORT,))
    over = decide(situation(job, volcano_job("Aborted")))
    assert over.actions == (Action.RELEASE_FINALIZER, Action.DELETE)


def test_a_job_whose_pods_have_all_ended_in_time_has_not_run_too_long() -> None:
    plan = replace(GANG, run_timeout_seconds=35)
    job = row(state=JobState.RUNNING, plan=plan, run_started_at=ago(40), started_at=ago(40))
    decision = decide(situation(job, volcano_job("Running"), pod(0, "Succeeded"), pod(1, "Succeeded")))
    assert decision.ending is None
    ending = replace(job, ending=Ending.DEADLINE_EXCEEDED, plan=replace(plan, run_timeout_seconds=20))
    ended = decide(situation(ending, volcano_job("Completed"), pod(0, "Succeeded"), pod(1, "Succeeded")))
    assert ended.state == "succeeded"


def test_a_job_that_others_stop_after_its_time_is_not_looked_at_without_a_pause() -> None:
    job = row(plan=replace(GANG, run_timeout_seconds=10), state=JobState.RUNNING, run_started_at=ago(40))
    decision = decide(situation(job, volcano_job("Terminating"), pod(0), pod(1, deleting=True)))
    assert decision.look_again_seconds is None or decision.look_again_seconds > 0


def test_pods_that_went_without_an_end_ran_until_now() -> None:
    job = suspending(plan=SHARDS, replicas=3, run_started_at=ago(3600), started_at=ago(3600))
    lost = (pod(index, started_at=ago(3600), gone=True) for index in (1, 2))
    ended = gone(job, pod(0, "Succeeded", ended_at=ago(3500), gone=True), *lost)
    assert ended.next_run.ran_seconds == 3600.0


def test_a_healthy_run_after_volcanos_own_restart_goes_on() -> None:  # a Job of an earlier release
    job = row(plan=replace(GANG, retries=3), state=JobState.RUNNING, attempt=2, run_started_at=ago(90))
    old = (pod(0, "Failed", gone=True), pod(1, "Failed", gone=True))
    new = (pod(0, attempt=2, uid="n0"), pod(1, attempt=2, uid="n1"))
    decision = decide(situation(job, volcano_job("Running", retry_count=1), *old, *new))
    assert (decision.state, decision.ending) == ("running", None)


def test_a_job_that_may_have_been_sent_runs_out_of_time_too() -> None:
    job = row(
        state=JobState.SUBMITTING, k8s_uid=None, queue_deadline_at=ago(1), plan=replace(GANG, queue_timeout_seconds=9)
    )
    decision = decide(replace(situation(job), absence=Absence.UNSEEN))
    assert (decision.state, decision.ending) == ("submitting", "QueueTimeout")
    ending = replace(job, ending=Ending.QUEUE_TIMEOUT)
    leased = decide(
        replace(situation(replace(ending, lock_expires_at=NOW + timedelta(seconds=60))), absence=Absence.UNSEEN)
    )
    assert (leased.state, leased.look_again_seconds) == ("submitting", 60.0)
    ended = gone(ending)
    assert (ended.state, ended.reason) == ("failed", "QueueTimeout")
