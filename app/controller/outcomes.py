"""Pieces of which decisions are made: what is seen of a job, an end, a Command. Pure."""

from dataclasses import replace
from datetime import timedelta

from app.cluster.observed import ObservedJob
from app.controller import counting, reasons
from app.controller.facts import Action, Counts, Decision, Situation
from app.jobs.states import JobState

_COMMAND_WAIT_SECONDS = 2.0
_LONGEST_COMMAND_WAIT_SECONDS = 60.0


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
        ending=job.ending,
        retries=job.retries,
        run_started_at=job.run_started_at,
    )


def seen_of(situation: Situation, volcano_job: ObservedJob | None) -> Decision:
    """What can be said of a job whatever its phase: of one that is there, or of one whose Volcano Job is gone."""
    job = situation.job
    attempt = job.attempt if volcano_job is None else counting.attempt_of(situation, volcano_job)
    return replace(
        unchanged(situation),
        attempt=attempt,
        k8s_uid=job.k8s_uid if volcano_job is None else volcano_job.uid,
        counts=counting.count(situation, attempt),
        started_at=counting.started_at(job, situation.pods, situation.now),
        run_started_at=counting.run_started_at(job, situation.pods, situation.now),
    )


def end(
    situation: Situation,
    seen: Decision,
    state: JobState,
    counts: Counts,
    why: reasons.Why = (None, None),
) -> Decision:
    """The end of a job."""
    reason, message = why
    ended_at = counting.ended_at(situation, seen.started_at)
    return replace(seen, state=state, reason=reason, message=message, counts=counts, ended_at=ended_at, ending=None)


def command(situation: Situation, seen: Decision, action: Action = Action.TERMINATE) -> Decision:
    """Ask Volcano to stop the Job, again and ever more rarely: a Command may get lost (volcano-facts 1.6)."""
    wait = min(_COMMAND_WAIT_SECONDS * 2 ** max(0, situation.commands - 1), _LONGEST_COMMAND_WAIT_SECONDS)
    sent_at = situation.commanded_at
    due_at = situation.now if sent_at is None else sent_at + timedelta(seconds=wait)
    if due_at <= situation.now:
        return replace(seen, actions=(*seen.actions, action), look_again_seconds=wait)
    return replace(seen, look_again_seconds=(due_at - situation.now).total_seconds())
