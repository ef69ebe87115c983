"""How a run ended, and whether that is the end of its job. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from app.controller import counting, reasons, retries
from app.controller.facts import KILLED, Decision, JobFacts, PodFacts, Situation
from app.controller.outcomes import end
from app.controller.plan import Indices
from app.jobs.states import Ending, JobState


def finished(situation: Situation, seen: Decision, phase: str) -> Decision:
    """A job whose run Volcano has finished; it ends, or runs again, once the last pod has ended or gone.

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
    if completed and _enough(counts.failed, counts.succeeded, job):
        return end(situation, seen, JobState.SUCCEEDED, counts)
    again = run_again(situation, seen)
    if again is not None:
        return again
    partial = job.run_indices is not None and counts.succeeded > 0 and phase in {"Completed", "Failed"}
    if completed or partial:
        return end(situation, seen, JobState.FAILED, counts, reasons.partial_success(counts, job))
    return end(situation, seen, JobState.FAILED, counts, reasons.why_failed(situation.pods, phase))


def _begun(situation: Situation) -> JobState:
    state = situation.job.state
    return JobState.PENDING if state is JobState.SUBMITTING else state


def _enough(failed: int, succeeded: int, job: JobFacts) -> bool:
    return failed == 0 or (job.min_success is not None and succeeded >= job.min_success)


def run_again(situation: Situation, seen: Decision) -> Decision | None:
    """The decision to bring the present run to an end and begin another; None when nothing is to run again."""
    verdict = retries.judge(situation.job, situation.pods)
    if not verdict.again:
        return None
    used = situation.job.retries + int(verdict.whole and verdict.counted)
    message = reasons.why_again([verdict.because_of] if verdict.because_of else verdict.pods)
    ending = Ending.RESTART_WHOLE if verdict.whole else Ending.RESTART
    return replace(seen, state=JobState.PENDING, reason="Restarting", message=message, ending=ending, retries=used)


def evidence(situation: Situation, seen: Decision) -> Decision | None:
    """The end of a job as its pods tell it, when all of them were seen to end."""
    job, counts = situation.job, seen.counts
    if counts.finished < job.replicas:
        return None
    if _enough(counts.failed, counts.succeeded, job):
        return end(situation, seen, JobState.SUCCEEDED, counts)
    return end(situation, seen, JobState.FAILED, counts, reasons.why_failed(situation.pods, "Failed"))


def over_by_itself(situation: Situation, seen: Decision) -> Decision | None:
    """The end of a job that was stopped when nothing of it was left to run; None when something is."""
    job, counts = situation.job, replace(seen.counts, pending=0, running=0)
    if counts.succeeded >= min(job.replicas, job.min_success or job.replicas):
        return end(situation, seen, JobState.SUCCEEDED, counts)
    if remaining(job, situation.pods) == {}:
        return end(situation, seen, JobState.FAILED, counts, reasons.partial_success(counts, job))
    return None


def lost(situation: Situation, seen: Decision, message: str) -> Decision:
    """The end of a job whose Volcano Job somebody else deleted."""
    counts = replace(seen.counts, pending=0, running=0)
    started = seen.started_at
    ended_at = situation.now if started is None else max(situation.now, started)
    return replace(seen, state=JobState.LOST, reason="Deleted", message=message, counts=counts, ended_at=ended_at)


def remaining(job: JobFacts, pods: Sequence[PodFacts]) -> Indices | None:
    """What the next run is of: where pods do not need each other, those that neither succeeded nor failed for good.

    None is the whole job, as in a gang, and when a rule of the owner said so.
    """
    if not job.plan.independent or job.ending is Ending.RESTART_WHOLE:
        return None
    pods = counting.of_present(job, pods)
    present = counting.newest(pods)
    done = {(pod.task, pod.index) for pod in present if pod.phase == "Succeeded"}
    over = {key for key, failures in retries.failures_of(pods).items() if not retries.may_run_again(job, failures)}
    gone_over = {(pod.task, pod.index) for pod in present if pod.phase == "Failed" and pod.reason != KILLED} & over
    left = {
        task.name: [index for index in task.indices if (task.name, index) not in done | gone_over]
        for task in job.plan.tasks
    }
    if all(len(left[task.name]) == len(task.indices) for task in job.plan.tasks):
        return None
    return {name: indices for name, indices in left.items() if indices}
