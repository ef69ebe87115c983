"""What runs again after pods failed: by cause, by the owner's rules, and as often as they allow. Pure.

A disruption is nobody's fault: it runs again without using up `retries.max`. Volcano counts every restart and every
resume alike and cannot tell causes apart (volcano-facts 2.6, v1.15.1), so this is decided here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.controller.counting import newest, of_present
from app.controller.facts import KILLED, JobFacts, PodFacts

MOST_DISRUPTIONS = 20
"""Runs of one pod, or of one gang, that disruptions may cost: a pod that gets itself evicted would run for ever."""

_DISRUPTIONS = frozenset(
    {
        *("Evicted", "NodeLost", "NodeShutdown", "Terminated", "Preempting", "Preempted", "UnexpectedAdmissionError"),
        # reasons of the condition DisruptionTarget (Kubernetes v1.36, docs on disruptions)
        *("PreemptionByScheduler", "DeletionByTaintManager", "EvictionByEvictionAPI", "DeletionByPodGC"),
        "TerminationByKubelet",
    }
)


class Cause(StrEnum):
    """Why a pod failed."""

    ERROR = "Error"
    OOM_KILLED = "OOMKilled"
    DISRUPTED = "Disrupted"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to run again.

    Attributes:
        whole: the whole job.
        counted: a whole run that uses up one of the owner's retries.
        because_of: the pod whose failure makes the whole job run again.
        pods: where pods do not need each other: those that failed last and run again.
    """

    whole: bool = False
    counted: bool = False
    because_of: PodFacts | None = None
    pods: tuple[PodFacts, ...] = ()

    @property
    def again(self) -> bool:
        """Whether anything runs again."""
        return self.whole or bool(self.pods)


NOTHING = Verdict()


def cause_of(pod: PodFacts) -> Cause:
    """Why a failed pod failed."""
    if pod.reason in _DISRUPTIONS:
        return Cause.DISRUPTED
    return Cause.OOM_KILLED if pod.reason == "OOMKilled" else Cause.ERROR


def action_for(job: JobFacts, pod: PodFacts) -> str:
    """What the owner's rules say of a failed pod: `restart_task`, `restart_job` or `fail`; the first that fits."""
    cause = cause_of(pod)
    for rule in job.plan.rules:
        if cause in rule.causes or (cause is not Cause.DISRUPTED and pod.exit_code in rule.exit_codes):
            return rule.action
    if cause is Cause.DISRUPTED or not job.plan.rules:
        return "restart_task"
    return "fail"


def judge(job: JobFacts, pods: Sequence[PodFacts]) -> Verdict:
    """Say what runs again of a job whose pods are these, of all attempts."""
    return _of_independents(job, pods) if job.plan.independent else _of_gang(job, pods)


def _of_gang(job: JobFacts, pods: Iterable[PodFacts]) -> Verdict:
    """The pod that failed first decides: the others often fail because it did."""
    present = [pod for pod in pods if pod.attempt > job.attempt_base]
    last = max((pod.attempt for pod in present), default=0)  # Volcano may have restarted a Job of an earlier release
    failed = [pod for pod in present if pod.phase == "Failed" and pod.reason != KILLED and pod.attempt == last]
    if not failed:
        return NOTHING
    first = min(failed, key=_end_of)
    return _whole(job, first) if action_for(job, first) != "fail" else NOTHING


def _whole(job: JobFacts, pod: PodFacts) -> Verdict:
    if cause_of(pod) is Cause.DISRUPTED:
        disruptions = job.attempt - 1 - job.retries - job.resumes
        return Verdict(whole=disruptions < MOST_DISRUPTIONS, because_of=pod)
    return Verdict(whole=job.retries < job.plan.retries, counted=True, because_of=pod)


def _of_independents(job: JobFacts, pods: Sequence[PodFacts]) -> Verdict:
    """Each pod by itself, by the failures that its index had."""
    pods = of_present(job, pods)
    failures, present = failures_of(pods), newest(pods)
    if job.min_success is not None and sum(pod.phase == "Succeeded" for pod in present) >= job.min_success:
        return NOTHING  # Volcano ends the Job and kills the others
    last = [pod for pod in present if pod.phase == "Failed" and pod.reason != KILLED and pod.attempt > job.attempt_base]
    for pod in last:
        if action_for(job, pod) == "restart_job" and (verdict := _whole(job, pod)).whole:
            return verdict
    again = (pod for pod in last if may_run_again(job, failures[pod.task, pod.index]))
    return Verdict(pods=tuple(again))


def failures_of(pods: Iterable[PodFacts]) -> Mapping[tuple[str, int], list[PodFacts]]:
    """The failed pods of each task and index, in the order in which they were made; those that we killed aside."""
    failures: dict[tuple[str, int], list[PodFacts]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.created_at, pod.uid)):
        if pod.phase == "Failed" and pod.reason != KILLED:
            failures.setdefault((pod.task, pod.index), []).append(pod)
    return failures


def may_run_again(job: JobFacts, failures: Sequence[PodFacts]) -> bool:
    """Whether an index that failed these times runs again."""
    if action_for(job, failures[-1]) != "restart_task":
        return False
    disrupted = sum(cause_of(pod) is Cause.DISRUPTED for pod in failures)
    if cause_of(failures[-1]) is Cause.DISRUPTED:
        return disrupted <= MOST_DISRUPTIONS
    return len(failures) - disrupted <= job.plan.retries


def _end_of(pod: PodFacts) -> tuple[bool, float, str]:
    at = pod.ended_at
    return at is None, at.timestamp() if at else 0.0, pod.name
