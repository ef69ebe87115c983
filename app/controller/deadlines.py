"""The owner's limits of time: how long a job may wait for its first pod, and how long its pods may run. Pure."""

from datetime import datetime

from app.controller import counting
from app.controller.facts import Decision, Situation
from app.jobs.states import Ending
from app.jobs.waiting import waited_too_long

LIMITS = frozenset({Ending.DEADLINE_EXCEEDED, Ending.QUEUE_TIMEOUT})


def seconds_left(situation: Situation, seen: Decision) -> tuple[Ending, float] | None:
    """Which limit the job is under now and how long until it is reached, 0 or less when it is; None without one.

    Waiting and suspension are no run time (case H-07), and while pods run nothing waits.
    """
    job = situation.job
    if seen.run_started_at is None:
        if job.queue_deadline_at is None:
            return None
        return Ending.QUEUE_TIMEOUT, (job.queue_deadline_at - situation.now).total_seconds()
    limit = job.plan.run_timeout_seconds
    if limit is None:
        return None
    return Ending.DEADLINE_EXCEEDED, limit - counting.ran_seconds(job, seen.run_started_at, _until(situation, seen))


def _until(situation: Situation, seen: Decision) -> datetime:
    """Now, or when the last pod ended: until Volcano has seen that, the job does not run on."""
    if any(pod.alive and pod.started_at is not None for pod in situation.pods):
        return situation.now
    return counting.ended_at(situation, seen.started_at)


def sentence(situation: Situation, seen: Decision) -> str:
    """Say which limit ended the job, with the numbers."""
    job = situation.job
    if job.ending is Ending.QUEUE_TIMEOUT:
        return waited_too_long(job.plan.queue_timeout_seconds)
    ran = counting.ran_seconds(job, seen.run_started_at, counting.ended_at(situation, seen.started_at))
    return f"The job ran for {ran:.0f} seconds; its run_timeout_seconds is {job.plan.run_timeout_seconds}."
