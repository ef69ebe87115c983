"""Counting a job's pods and reading its times. Pure.

Volcano's own counters drop to zero when a finished Job is killed once more (volcano-sh/volcano#4616), so pods count
first, and what was counted before is never taken back.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from app.cluster.observed import Counts as StatusCounts
from app.cluster.observed import ObservedJob
from app.controller.facts import FINISHED_PHASES, KILLED, Counts, JobFacts, PodFacts, Situation


def newest(pods: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    """The present pod of each index of each task: one that runs again has another uid, and perhaps another name."""
    by_index: dict[tuple[str, int], PodFacts] = {}
    for pod in sorted(pods, key=lambda pod: (not pod.gone, pod.attempt, pod.created_at, pod.uid)):
        by_index[pod.task, pod.index] = pod
    return tuple(by_index[key] for key in sorted(by_index))


def of_present(job: JobFacts, pods: Iterable[PodFacts]) -> list[PodFacts]:
    """The pods since the whole job last began anew: what became of earlier ones says nothing any more."""
    return [pod for pod in pods if pod.attempt > job.whole_base]


def attempt_of(situation: Situation, volcano_job: ObservedJob) -> int:
    """Runs so far; never fewer than before.

    Volcano raises `retryCount` before it asks whether another run is allowed, so a Job whose last retry failed has one
    more than it had restarts (volcano-facts 2.6, trace 07): only a Job that goes on is believed, else its pods are
    that ran. With RestartTask it even makes pods for the run that it then does not allow.
    """
    seen = [pod.attempt for pod in situation.pods if pod.phase != "Pending"]
    base = situation.job.attempt_base
    if volcano_job.phase in {"", "Pending", "Running"}:
        seen.append(base + volcano_job.retry_count + 1)
    return max(situation.job.attempt, base + 1, *seen)


def count(situation: Situation, attempt: int) -> Counts:
    """Count the pods of the present attempt; `succeeded` never falls and the sum is at most the replicas.

    Where pods do not need each other each has attempts of its own, and its newest pod counts.
    """
    job, volcano_job = situation.job, situation.volcano_job
    kept = (pod for pod in situation.pods if not pod.gone or pod.finished)  # what went without an end says nothing
    if job.plan.independent:
        return _of_independents(job, newest(of_present(job, kept)))
    pods = newest(kept)
    pods = tuple(pod for pod in pods if not pod.gone or pod.attempt >= attempt)
    status = StatusCounts() if volcano_job is None else volcano_job.counts
    same_attempt = attempt == job.attempt
    succeeded = max(_with(pods, "Succeeded"), status.succeeded, job.counts.succeeded)
    failed = max(_with(pods, "Failed"), status.failed, job.counts.failed if same_attempt and not _alive(pods) else 0)
    return _capped(job.replicas, succeeded, failed, _with(pods, "Running", "Unknown"), _with(pods, "Pending"))


def _of_independents(job: JobFacts, pods: Sequence[PodFacts]) -> Counts:
    """Volcano's counters are not asked: they are of its present Job, and a pod that runs again leaves them late."""
    succeeded = max(_with(pods, "Succeeded"), job.counts.succeeded)
    failed = sum(pod.phase == "Failed" and pod.reason != KILLED for pod in pods)
    return _capped(job.replicas, succeeded, failed, _with(pods, "Running", "Unknown"), _with(pods, "Pending"))


def at_the_end(counts: Counts, job: JobFacts, *, completed: bool) -> Counts:
    """The last counts of a job.

    Volcano calls a Job Completed when at least `minAvailable` pods succeeded. When that is all of them, all succeeded,
    even those whose pods were deleted before we saw them end.
    """
    if completed and not job.plan.independent and job.min_success is None and job.min_available >= job.replicas:
        return Counts(succeeded=job.replicas)
    return _capped(job.replicas, counts.succeeded, counts.failed, 0, 0)


def started_at(job: JobFacts, pods: Iterable[PodFacts], now: datetime) -> datetime | None:
    """When the first pod started, by the node's clock, cut so that no duration is ever negative."""
    if job.started_at is not None:
        return job.started_at
    first = _first_start(pods, now)
    return first if first is None or job.submitted_at is None else max(first, job.submitted_at)


def run_started_at(job: JobFacts, pods: Iterable[PodFacts], now: datetime) -> datetime | None:
    """The same for the pods of the present run."""
    if job.run_started_at is not None:
        return job.run_started_at
    first = _first_start((pod for pod in pods if pod.attempt > job.attempt_base), now)
    earliest = job.started_at or job.submitted_at
    return first if first is None or earliest is None else max(first, earliest)


def ran_seconds(job: JobFacts, run_started: datetime | None, until: datetime) -> float:
    """Seconds of all runs, the present one up to a moment; waiting and suspension are not among them."""
    present = 0.0 if run_started is None else max(0.0, (until - run_started).total_seconds())
    return job.ran_seconds + present


def _first_start(pods: Iterable[PodFacts], now: datetime) -> datetime | None:
    starts = [pod.started_at for pod in pods if pod.started_at is not None]
    return min(*starts, now) if starts else None


def ended_at(situation: Situation, started: datetime | None) -> datetime:
    """When the last pod ended; for pods that were killed, when Volcano finished the Job, or now when the Job is gone.

    A pod that was deleted while it ran never says when it ended, and another's end may be long ago. Volcano's stamp is
    not taken when all ends are known: each later kill of a finished Job moves it on (volcano-facts 2.5, trace 12).
    """
    pods, volcano_job = newest(situation.pods), situation.volcano_job
    ends = [pod.ended_at for pod in situation.pods if pod.ended_at is not None]
    killed = not ends or any(pod.gone and not pod.finished and pod.started_at is not None for pod in pods)
    if killed and volcano_job is not None and volcano_job.phase in FINISHED_PHASES and volcano_job.last_transition_at:
        ends.append(volcano_job.last_transition_at)
    elif killed and volcano_job is None:
        ends.append(situation.now)
    last = min(max(ends), situation.now) if ends else situation.now
    begun = started or situation.job.submitted_at
    return last if begun is None else max(last, begun)


def _with(pods: Iterable[PodFacts], *phases: str) -> int:
    return sum(pod.phase in phases for pod in pods)


def _alive(pods: Iterable[PodFacts]) -> bool:
    return any(pod.alive for pod in pods)


def _capped(replicas: int, succeeded: int, failed: int, running: int, pending: int) -> Counts:
    """Cut the counts to the replicas, the surest first."""
    left = replicas
    cut: list[int] = []
    for amount in (succeeded, failed, running, pending):
        cut.append(min(amount, left))
        left -= cut[-1]
    return Counts(succeeded=cut[0], failed=cut[1], running=cut[2], pending=cut[3])
