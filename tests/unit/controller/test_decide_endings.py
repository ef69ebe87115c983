from dataclasses import replace
from datetime import timedelta

from app.controller.decide import decide
from app.controller.facts import Absence, Action, Counts
from app.jobs.states import Desired, JobState
from tests.unit.controller.situations import NOW, UID, ago, pod, row, situation, volcano_job

CANCELLING = row(state=JobState.CANCELLING, desired=Desired.CANCEL)


def test_cancelling_commands_again_ever_more_rarely_until_the_job_shows_it() -> None:
    shown = volcano_job("Running")
    assert decide(situation(CANCELLING, shown, pod(0))).actions == (Action.TERMINATE,)
    sent = decide(situation(CANCELLING, shown, pod(0), commands=1, commanded_at=ago(1)))
    assert (sent.actions, sent.look_again_seconds) == ((), 1)
    assert decide(situation(CANCELLING, shown, commands=1, commanded_at=ago(2))).actions == (Action.TERMINATE,)
    assert decide(situation(CANCELLING, shown, commands=20, commanded_at=ago(59))).look_again_seconds == 1
    assert decide(situation(CANCELLING, volcano_job("Terminating"), pod(0))).actions == ()
    assert "3 requests" in (decide(situation(CANCELLING, shown, commands=3, commanded_at=ago(1))).message or "")


def test_cancelled_only_when_the_last_pod_is_gone() -> None:  # C-03, C-10
    staying = pod(1, deleting=True, node="gpu-3")
    waiting = decide(situation(CANCELLING, volcano_job("Terminated"), staying))
    assert waiting.state == "cancelling"
    assert waiting.message == "Waits for 1 pods to go: a-worker-1 on gpu-3."
    done = decide(situation(CANCELLING, volcano_job("Terminated"), pod(0, "Succeeded")))
    assert (done.state, done.counts, done.ended_at is not None) == ("cancelled", Counts(succeeded=1), True)
    gone = decide(situation(CANCELLING, None, staying, absence=Absence.CONFIRMED))
    assert gone.state == "cancelling"
    assert decide(situation(CANCELLING, absence=Absence.CONFIRMED)).state == "cancelled"


def test_cancelling_a_job_that_may_have_been_sent_waits_for_the_claim_and_then_asks() -> None:
    job = replace(CANCELLING, k8s_uid=None, lock_expires_at=NOW + timedelta(seconds=5))
    waiting = decide(situation(job, absence=Absence.UNSEEN))
    assert (waiting.actions, waiting.look_again_seconds) == ((), 5)
    late = replace(job, lock_expires_at=ago(1))
    assert decide(situation(late, absence=Absence.UNSEEN)).actions == (Action.CONFIRM_ABSENCE,)
    assert decide(situation(late, absence=Absence.CONFIRMED)).state == "cancelled"
    assert decide(situation(late, volcano_job("Running"))).actions == (Action.TERMINATE,)
    assert decide(situation(late, volcano_job("Running"))).k8s_uid == UID


def test_cancelling_a_job_that_somebody_deleted_lets_it_go() -> None:
    shown = volcano_job("Running", deleting=True)
    assert decide(situation(CANCELLING, shown, pod(0))).actions == (Action.RELEASE_FINALIZER,)


ENDED = row(state=JobState.SUCCEEDED, ended_at=ago(10))


def test_after_the_end_the_finalizer_goes_and_after_retention_the_job() -> None:
    shown = volcano_job("Completed")
    assert decide(situation(ENDED, shown)).actions == (Action.RELEASE_FINALIZER,)
    released = volcano_job("Completed", finalizers=())
    kept = decide(situation(ENDED, released))
    assert (kept.actions, kept.look_again_seconds) == ((), 590)
    assert decide(situation(ENDED, released, retention_seconds=10)).actions == (Action.DELETE,)
    deleting = volcano_job("Completed", finalizers=(), deleting=True)
    assert decide(situation(ENDED, deleting, retention_seconds=10)).actions == ()


def test_an_ended_job_is_cleaned_when_a_get_has_not_found_it() -> None:
    assert (decide(situation(ENDED)).actions, decide(situation(ENDED)).cleaned) == ((), False)
    unseen = decide(situation(ENDED, absence=Absence.UNSEEN))
    assert (unseen.actions, unseen.recorded, unseen.cleaned) == ((Action.CONFIRM_ABSENCE,), False, False)
    gone = decide(situation(ENDED, absence=Absence.CONFIRMED))
    assert (gone.actions, gone.recorded, gone.cleaned) == ((), True, True)
    cleaned = replace(ENDED, recorded_at=ago(5), cleaned_at=ago(5))
    assert decide(situation(cleaned, absence=Absence.UNSEEN)).actions == ()
    never_there = replace(ENDED, k8s_uid=None)
    assert decide(situation(never_there, absence=Absence.UNSEEN)).actions == ()


def test_an_ended_job_that_still_runs_in_the_cluster_is_terminated() -> None:
    ended = replace(ENDED, state=JobState.LOST)
    decision = decide(situation(ended, volcano_job("Running"), pod(0)))
    assert decision.actions == (Action.RELEASE_FINALIZER, Action.TERMINATE)
