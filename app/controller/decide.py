"""From a job's row and what the cluster shows of it to what the row is to say and what is to be done. Pure.

Volcano's phases are read as v1.15.1 writes them (volcano-facts 2.3). A terminal state is never left, an absence is
believed only after a GET, and nothing is done to an object that is not surely ours.
"""

from dataclasses import replace

from app.cluster.names import RECORDED_FINALIZER
from app.cluster.observed import ObservedJob
from app.controller import deadlines, judging, reasons, retries
from app.controller.facts import (
    FINISHED_PHASES,
    KNOWN_PHASES,
    STOPPING_PHASES,
    Absence,
    Action,
    Decision,
    PodFacts,
    Situation,
)
from app.controller.outcomes import command, seen_of, unchanged
from app.controller.stopping import remove_late, stop
from app.controller.turns import MOST_AT_ONCE, turns
from app.jobs.states import STOPPING, Desired, Ending, JobState
from app.jobs.waiting import WAITING_FOR_QUOTA

_SOON_SECONDS = 0.2


def decide(situation: Situation) -> Decision:
    """Decide about one job.

    The decision repeats the row where nothing changed; whoever acts on it writes only what differs.
    """
    job = situation.job
    if job.ended:
        return _ended(situation)
    if job.state in {JobState.HELD, JobState.SUSPENDED}:
        return _waiting(situation)
    if job.state in STOPPING or job.ending is not None:
        return stop(situation)
    if situation.volcano_job is None:
        return _absent(situation)
    return _present(situation, situation.volcano_job)


def _waiting(situation: Situation) -> Decision:
    """A job that has nothing in the cluster, or should not."""
    job, same = situation.job, unchanged(situation)
    if job.state is JobState.HELD:
        return same
    if job.desired is Desired.RUN:
        # its owner resumed it before it was suspended
        return replace(same, state=JobState.HELD, reason=WAITING_FOR_QUOTA, message=None)
    return same if situation.volcano_job is None else remove_late(situation, situation.volcano_job)


def _present(situation: Situation, volcano_job: ObservedJob) -> Decision:
    """Decide about a job whose Volcano Job is there."""
    seen = seen_of(situation, volcano_job)
    if volcano_job.phase not in KNOWN_PHASES:
        message = f"Volcano shows a phase that this service does not know: {volcano_job.phase[:64]}."
        state = JobState.PENDING if seen.state is JobState.SUBMITTING else seen.state
        return replace(seen, state=state, message=message, strange_phase=True)
    if volcano_job.deleting and volcano_job.phase not in FINISHED_PHASES:
        return _deleted_by_hand(situation, seen)
    if volcano_job.phase in FINISHED_PHASES:
        return judging.finished(situation, seen, volcano_job.phase)
    return _active(situation, seen, volcano_job.phase)


def _active(situation: Situation, seen: Decision, phase: str) -> Decision:
    """A job that Volcano works on: is its time over, does something run again, whose turn is it, what is said."""
    limit = deadlines.seconds_left(situation, seen)
    if limit is not None and limit[1] <= 0 and phase not in STOPPING_PHASES:
        state = JobState.RUNNING if seen.run_started_at is not None else JobState.PENDING
        return command(situation, replace(seen, state=state, reason=str(limit[0]), message=None, ending=limit[0]))
    verdict = retries.NOTHING if phase == "Restarting" else retries.judge(situation.job, situation.pods)
    if verdict.whole and (again := judging.run_again(situation, seen)) is not None:
        return command(situation, again)
    told = _with_pods(situation, _told(situation, seen, phase), verdict.pods)
    if limit is None or limit[1] <= 0:
        return told
    return replace(told, look_again_seconds=max(_SOON_SECONDS, min(limit[1], told.look_again_seconds or limit[1])))


def _with_pods(situation: Situation, told: Decision, failed: tuple[PodFacts, ...]) -> Decision:
    """Delete the failed pods that run again, which Volcano then makes anew, and let go those whose turn it is."""
    again = tuple(pod for pod in failed if not pod.gone and not pod.deleting)[:MOST_AT_ONCE]
    next_ones = turns(situation.job, situation.pods)
    actions = told.actions
    if again:
        actions = (*actions, Action.DELETE_PODS)
    if next_ones:
        actions = (*actions, Action.ADMIT_PODS)
    if not again and not next_ones:
        return told
    soon = _SOON_SECONDS if MOST_AT_ONCE in {len(again), len(next_ones)} else told.look_again_seconds
    return replace(told, actions=actions, to_delete=again, to_admit=next_ones, look_again_seconds=soon)


def _told(situation: Situation, seen: Decision, phase: str) -> Decision:
    """What is said of an active job: running if any of its pods runs or has run, whatever the phase calls it (S-13)."""
    present = [pod for pod in situation.pods if not pod.gone]
    if any(pod.phase == "Running" or (pod.finished and phase != "Restarting") for pod in present):
        return replace(seen, state=JobState.RUNNING, reason=None, message=None)
    if not present and phase != "Pending" and situation.job.state is JobState.RUNNING:
        return seen  # the news about its pods come by another watch
    reason, message = reasons.why_pending(situation, seen.counts)
    look_again = reasons.NOT_PICKED_UP.total_seconds() if reason is None else None
    return replace(seen, state=JobState.PENDING, reason=reason, message=message, look_again_seconds=look_again)


def _deleted_by_hand(situation: Situation, seen: Decision) -> Decision:
    """A Job that somebody deleted before it finished: only our finalizer keeps it and its pods (trace 14)."""
    evidence = judging.evidence(situation, seen)
    return evidence or judging.lost(
        situation, seen, "The Volcano Job was deleted outside this service before it had finished."
    )


def _absent(situation: Situation) -> Decision:
    """Decide about a job that was submitted and whose Volcano Job is not to be seen."""
    job, same = situation.job, unchanged(situation)
    if job.state is JobState.SUBMITTING or job.k8s_uid is None or situation.absence is Absence.UNKNOWN:
        # the claim's lease runs out, and then another claim finds out, unless there is no time left for it
        limit = deadlines.seconds_left(situation, same)
        over = limit is not None and limit[1] <= 0 and job.state is JobState.SUBMITTING
        return replace(same, ending=Ending.QUEUE_TIMEOUT, look_again_seconds=_SOON_SECONDS) if over else same
    if situation.absence is Absence.UNSEEN:
        return replace(same, actions=(Action.CONFIRM_ABSENCE,))
    seen = seen_of(situation, None)
    evidence = judging.evidence(situation, seen)
    return evidence or judging.lost(
        situation, seen, "The Volcano Job was deleted outside this service; its end was not seen."
    )


def _ended(situation: Situation) -> Decision:
    """Clean up after a job whose end is committed: the finalizer, what still runs, and at last the Job itself."""
    job, volcano_job, same = situation.job, situation.volcano_job, unchanged(situation)
    if volcano_job is None:
        return _cleaned(situation, same)
    same = replace(same, k8s_uid=volcano_job.uid)
    if RECORDED_FINALIZER in volcano_job.finalizers:
        same = replace(same, actions=(Action.RELEASE_FINALIZER,))
    else:
        same = replace(same, recorded=job.recorded_at is None)
    if volcano_job.deleting:
        return same
    if volcano_job.phase not in FINISHED_PHASES | STOPPING_PHASES:
        return command(situation, same)
    return _after_retention(situation, same)


def _cleaned(situation: Situation, same: Decision) -> Decision:
    """Believe that an ended job's Volcano Job is gone, once a GET has said so; asked once in a job's life."""
    job = situation.job
    if job.k8s_uid is None or situation.absence is Absence.UNKNOWN or (job.recorded_at and job.cleaned_at):
        return same
    if situation.absence is Absence.UNSEEN:
        return replace(same, actions=(Action.CONFIRM_ABSENCE,))
    return replace(same, recorded=job.recorded_at is None, cleaned=job.cleaned_at is None)


def _after_retention(situation: Situation, same: Decision) -> Decision:
    ended_at = situation.job.ended_at
    kept = (situation.now - ended_at).total_seconds() if ended_at else 0.0
    left = situation.retention_seconds - kept
    if left > 0:
        return replace(same, look_again_seconds=left)
    return replace(same, actions=(*same.actions, Action.DELETE))
