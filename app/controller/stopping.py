"""Bringing a run to an end: its job is cancelled or suspended, its time is over, or it runs again. Pure."""

from dataclasses import replace

from app.cluster.names import RECORDED_FINALIZER
from app.cluster.observed import ObservedJob
from app.controller import counting, deadlines, judging, reasons, retries
from app.controller.facts import FINISHED_PHASES, STOPPING_PHASES, Absence, Action, Counts, Decision, NextRun, Situation
from app.controller.outcomes import command, end, seen_of, unchanged
from app.jobs.states import TERMINAL, Ending, JobState
from app.jobs.waiting import WAITING_FOR_RELEASE

_LOOK_AGAIN_SECONDS = 2.0
_BY_ITSELF = {"Completed", "Failed"}


def stop(situation: Situation) -> Decision:
    """Stop the present run; only when its last pod is gone it counts as stopped (C-03)."""
    if situation.volcano_job is not None:
        return _stop(situation, situation.volcano_job)
    same = unchanged(situation)
    if situation.absence is Absence.UNKNOWN:
        return same
    lease = situation.job.lock_expires_at
    if lease is not None and lease > situation.now:
        # the create call may still be on its way
        return replace(same, look_again_seconds=(lease - situation.now).total_seconds())
    if situation.absence is Absence.UNSEEN:
        return replace(same, actions=(Action.CONFIRM_ABSENCE,))
    return _over(situation, seen_of(situation, None))


def _stop(situation: Situation, volcano_job: ObservedJob) -> Decision:
    seen = seen_of(situation, volcano_job)
    suspending = situation.job.state is JobState.SUSPENDING
    if volcano_job.phase in FINISHED_PHASES:
        if suspending and situation.job.ending is None and volcano_job.phase in _BY_ITSELF:
            ended = judging.finished(situation, seen, volcano_job.phase)
            if ended.state in TERMINAL:
                return ended  # it was over before it could be suspended
        return _over(situation, seen)
    if volcano_job.deleting:
        # Volcano no longer acts on it; its pods go when the finalizer does (trace 14)
        return replace(_let_go(situation, seen), message=reasons.why_not_gone(situation.pods))
    if volcano_job.phase in STOPPING_PHASES:
        return replace(seen, message=reasons.why_not_gone(situation.pods) or seen.message)
    message = reasons.why_not_stopped(situation.commands) or seen.message
    return command(situation, replace(seen, message=message), Action.ABORT if suspending else Action.TERMINATE)


def remove_late(situation: Situation, volcano_job: ObservedJob) -> Decision:
    """Remove the Volcano Job of a suspended job: its create call came through after the claim's lease had run out."""
    same = unchanged(situation)
    if volcano_job.phase in FINISHED_PHASES or volcano_job.deleting:
        return _let_go(situation, same)
    return same if volcano_job.phase in STOPPING_PHASES else command(situation, same, Action.ABORT)


def _over(situation: Situation, seen: Decision) -> Decision:
    """Nothing of the run goes on by itself any more; wait for its last pod, then say what follows."""
    if not situation.pods_complete:
        return seen
    waits_for = reasons.why_not_gone(situation.pods)
    if waits_for is not None:
        return replace(seen, message=waits_for)
    return _after(situation, seen)


def _after(situation: Situation, seen: Decision) -> Decision:
    """What follows a run of which nothing is left: the end of the job, or the next run."""
    job = situation.job
    counts = replace(seen.counts, pending=0, running=0)
    if job.state is JobState.CANCELLING:
        return end(situation, seen, JobState.CANCELLED, counts, (job.reason, None))
    if job.ending is not Ending.RESTART_WHOLE and (ended := judging.over_by_itself(situation, seen)) is not None:
        return ended  # all of it was done before it could be stopped
    if job.ending in deadlines.LIMITS and job.state is not JobState.SUSPENDING:
        return end(situation, seen, JobState.FAILED, counts, (str(job.ending), deadlines.sentence(situation, seen)))
    if situation.volcano_job is not None:
        return _let_go(situation, seen)
    return _next(situation, seen)


def _let_go(situation: Situation, seen: Decision) -> Decision:
    """Remove the Volcano Job of a run that is over: the row says so, and how its pods ended is written first."""
    volcano_job = situation.volcano_job
    if volcano_job is None:
        return seen
    actions = (Action.RELEASE_FINALIZER,) if RECORDED_FINALIZER in volcano_job.finalizers else ()
    if not volcano_job.deleting:
        actions = (*actions, Action.DELETE)
    return replace(seen, actions=actions, look_again_seconds=_LOOK_AGAIN_SECONDS)


def _next(situation: Situation, seen: Decision) -> Decision:
    """The run and its Volcano Job are gone; the job waits for its next one as it waited for its first."""
    job = situation.job
    verdict = retries.judge(job, situation.pods) if job.ending is None else retries.NOTHING
    anew = verdict.whole or job.ending is Ending.RESTART_WHOLE or not job.plan.independent
    left = None if anew else judging.remaining(job, situation.pods)
    ended_at = counting.ended_at(situation, seen.started_at)
    following = NextRun(left, anew, counting.ran_seconds(job, seen.run_started_at, ended_at))
    size = job.replicas if left is None else sum(len(indices) for indices in left.values())
    failed = max(0, job.replicas - seen.counts.succeeded - size)
    suspended = job.state is JobState.SUSPENDING
    return replace(
        seen,
        state=JobState.SUSPENDED if suspended else JobState.HELD,
        reason=job.reason if suspended else WAITING_FOR_RELEASE,
        message=None,
        counts=Counts() if anew else Counts(succeeded=seen.counts.succeeded, failed=failed),
        retries=job.retries + int(verdict.whole and verdict.counted),
        k8s_uid=None,
        ending=None,
        run_started_at=None,
        next_run=following,
    )
