"""From a job's row and what the cluster shows of it to what the row is to say and what is to be done. Pure.

Volcano's phases are read as v1.15.1 writes them (volcano-facts 2.3). A terminal state is never left, an absence is
believed only after a GET, and nothing is done to an object that is not surely ours.
"""

from dataclasses import replace
from datetime import timedelta

from app.cluster.names import RECORDED_FINALIZER
from app.cluster.observed import ObservedJob
from app.controller import counting, reasons
from app.controller.facts import (
    FINISHED_PHASES,
    KNOWN_PHASES,
    STOPPING_PHASES,
    Absence,
    Action,
    Counts,
    Decision,
    Situation,
)
from app.jobs.states import JobState

_COMMAND_WAIT_SECONDS = 2.0
_LONGEST_COMMAND_WAIT_SECONDS = 60.0

_NOT_WATCHED = frozenset({JobState.HELD, JobState.SUSPENDING, JobState.SUSPENDED})


def decide(situation: Situation) -> Decision:
    """Decide about one job.

    The decision repeats the row where nothing changed; whoever acts on it writes only what differs.
    """
    job = situation.job
    if job.ended:
        return _ended(situation)
    if job.state in _NOT_WATCHED:
        return unchanged(situation)
    if job.state is JobState.CANCELLING:
        return _cancelling(situation)
    if situation.volcano_job is None:
        return _absent(situation)
    return _present(situation, situation.volcano_job)


def unchanged(situation: Situation) -> Decision:
    """The decision to leave everything as it is."""
    job = situation.job
    return Decision(
        state=job.state,
        reason=job.reason,
        message=job.message,
        counts=job.counts,
        attempt=job.attempt,
        k8s_uid=job.k8s_uid,
        started_at=job.started_at,
        ended_at=job.ended_at,
    )


def _present(situation: Situation, volcano_job: ObservedJob) -> Decision:
    """Decide about a job whose Volcano Job is there."""
    seen = _seen(situation, volcano_job)
    if volcano_job.phase not in KNOWN_PHASES:
        message = f"Volcano shows a phase that this service does not know: {volcano_job.phase[:64]}."
        state = JobState.PENDING if seen.state is JobState.SUBMITTING else seen.state
        return replace(seen, state=state, message=message, strange_phase=True)
    if volcano_job.deleting and volcano_job.phase not in FINISHED_PHASES:
        return _deleted_by_hand(situation, seen)
    if volcano_job.phase in FINISHED_PHASES:
        return _finished(situation, seen, volcano_job.phase)
    return _active(situation, seen, volcano_job.phase)


def _seen(situation: Situation, volcano_job: ObservedJob) -> Decision:
    """What can be said of a job that is there, whatever its phase."""
    job = situation.job
    attempt = counting.attempt_of(situation, volcano_job)
    return replace(
        unchanged(situation),
        attempt=attempt,
        k8s_uid=volcano_job.uid,
        counts=counting.count(situation, attempt),
        started_at=counting.started_at(job, situation.pods, situation.now),
    )


def _active(situation: Situation, seen: Decision, phase: str) -> Decision:
    """A job that Volcano works on: running if any of its pods runs or has run, whatever the phase calls it (S-13)."""
    present = [pod for pod in situation.pods if not pod.gone]
    if any(pod.phase == "Running" or (pod.finished and phase != "Restarting") for pod in present):
        return replace(seen, state=JobState.RUNNING, reason=None, message=None)
    if not present and phase != "Pending" and situation.job.state is JobState.RUNNING:
        return seen  # the news about its pods come by another watch
    reason, message = reasons.why_pending(situation, seen.counts)
    look_again = reasons.NOT_PICKED_UP.total_seconds() if reason is None else None
    return replace(seen, state=JobState.PENDING, reason=reason, message=message, look_again_seconds=look_again)


def _finished(situation: Situation, seen: Decision, phase: str) -> Decision:
    """A job that Volcano has finished; it ends here once its last pod has ended or gone.

    Jobs and pods are watched side by side, so a pod that still seems to run may only be news that has not come yet.
    """
    if not situation.pods_complete:
        return seen
    waits_for = reasons.why_not_gone(situation.pods)
    if waits_for is not None:
        return replace(seen, state=_begun(situation), reason=None, message=waits_for)
    job = situation.job
    completed = phase == "Completed"
    counts = counting.at_the_end(seen.counts, job, completed=completed)
    if completed and _enough(counts.failed, counts.succeeded, job.min_success):
        return _end(situation, seen, JobState.SUCCEEDED, counts)
    if completed:
        return _end(situation, seen, JobState.FAILED, counts, reasons.partial_success(counts, job))
    return _end(situation, seen, JobState.FAILED, counts, reasons.why_failed(situation.pods, phase))


def _begun(situation: Situation) -> JobState:
    state = situation.job.state
    return JobState.PENDING if state is JobState.SUBMITTING else state


def _enough(failed: int, succeeded: int, min_success: int | None) -> bool:
    return failed == 0 or (min_success is not None and succeeded >= min_success)


def _end(
    situation: Situation,
    seen: Decision,
    state: JobState,
    counts: Counts,
    why: reasons.Why = (None, None),
) -> Decision:
    reason, message = why
    ended_at = counting.ended_at(situation, seen.started_at)
    return replace(seen, state=state, reason=reason, message=message, counts=counts, ended_at=ended_at)


def _deleted_by_hand(situation: Situation, seen: Decision) -> Decision:
    """A Job that somebody deleted before it finished: only our finalizer keeps it and its pods (trace 14)."""
    evidence = _evidence(situation, seen)
    return evidence or _lost(
        situation, seen, "The Volcano Job was deleted outside this service before it had finished."
    )


def _absent(situation: Situation) -> Decision:
    """Decide about a job that was submitted and whose Volcano Job is not to be seen."""
    job, same = situation.job, unchanged(situation)
    if job.state is JobState.SUBMITTING or job.k8s_uid is None or situation.absence is Absence.UNKNOWN:
        return same  # the claim's lease runs out, and then another claim finds out
    if situation.absence is Absence.UNSEEN:
        return replace(same, actions=(Action.CONFIRM_ABSENCE,))
    counts = counting.count(situation, job.attempt)
    started_at = counting.started_at(job, situation.pods, situation.now)
    seen = replace(same, counts=counts, started_at=started_at)
    evidence = _evidence(situation, seen)
    return evidence or _lost(situation, seen, "The Volcano Job was deleted outside this service; its end was not seen.")


def _evidence(situation: Situation, seen: Decision) -> Decision | None:
    """The end of a job as its pods tell it, when all of them were seen to end."""
    job, counts = situation.job, seen.counts
    if counts.finished < job.replicas:
        return None
    if _enough(counts.failed, counts.succeeded, job.min_success):
        return _end(situation, seen, JobState.SUCCEEDED, counts)
    return _end(situation, seen, JobState.FAILED, counts, reasons.why_failed(situation.pods, "Failed"))


def _lost(situation: Situation, seen: Decision, message: str) -> Decision:
    counts = replace(seen.counts, pending=0, running=0)
    started = seen.started_at
    ended_at = situation.now if started is None else max(situation.now, started)
    return replace(seen, state=JobState.LOST, reason="Deleted", message=message, counts=counts, ended_at=ended_at)


def _cancelling(situation: Situation) -> Decision:
    """Stop a job, and call it cancelled only when its last pod is gone (C-03)."""
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
    return _cancelled_when_gone(situation, same)


def _stop(situation: Situation, volcano_job: ObservedJob) -> Decision:
    seen = _seen(situation, volcano_job)
    if volcano_job.phase in FINISHED_PHASES:
        return _cancelled_when_gone(situation, seen)
    if volcano_job.deleting:
        # Volcano no longer acts on it; its pods go when the finalizer does (trace 14)
        actions = (Action.RELEASE_FINALIZER,) if RECORDED_FINALIZER in volcano_job.finalizers else ()
        return replace(seen, actions=actions, message=reasons.why_not_gone(situation.pods))
    if volcano_job.phase in STOPPING_PHASES:
        return replace(seen, message=reasons.why_not_gone(situation.pods))
    message = reasons.why_not_stopped(situation.commands) or seen.message
    return _command(situation, replace(seen, message=message))


def _cancelled_when_gone(situation: Situation, seen: Decision) -> Decision:
    if not situation.pods_complete:
        return seen
    waits_for = reasons.why_not_gone(situation.pods)
    if waits_for is not None:
        return replace(seen, message=waits_for)
    counts = replace(seen.counts, pending=0, running=0)
    return _end(situation, seen, JobState.CANCELLED, counts, (situation.job.reason, None))


def _command(situation: Situation, seen: Decision) -> Decision:
    """Ask Volcano to terminate the Job, again and ever more rarely: a Command may get lost (volcano-facts 1.6)."""
    wait = min(_COMMAND_WAIT_SECONDS * 2 ** max(0, situation.commands - 1), _LONGEST_COMMAND_WAIT_SECONDS)
    sent_at = situation.commanded_at
    due_at = situation.now if sent_at is None else sent_at + timedelta(seconds=wait)
    if due_at <= situation.now:
        return replace(seen, actions=(*seen.actions, Action.TERMINATE), look_again_seconds=wait)
    return replace(seen, look_again_seconds=(due_at - situation.now).total_seconds())


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
        return _command(situation, same)
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
