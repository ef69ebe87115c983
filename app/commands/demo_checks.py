"""What the scenario proves, as pure functions over what was seen. Each says what it looked at in `facts`."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.commands.demo_evidence import WAITING, JobSeen, PodSeen, Sample
from app.commands.demo_timeline import most_in_use


@dataclass(frozen=True, slots=True)
class Evidence:
    """All samples in the order in which they were taken; the last one shows the end."""

    samples: Sequence[Sample]
    gpus_per_node: int

    @property
    def end(self) -> Sample:
        """The last sample."""
        return self.samples[-1]

    def job(self, name: str) -> JobSeen:
        """A job as it was at the end."""
        return self.end.jobs[name]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check with what it looked at."""

    check: str
    ok: bool
    facts: dict[str, Any]


def judge(evidence: Evidence) -> list[Verdict]:
    """Every check of the scenario."""
    verdicts = []
    for name, check in CHECKS.items():
        ok, facts = check(evidence)
        verdicts.append(Verdict(name, ok, facts))
    return verdicts


Finding = tuple[bool, dict[str, Any]]


def _all_succeeded(evidence: Evidence) -> Finding:
    states = {name: job.state for name, job in evidence.end.jobs.items()}
    return set(states.values()) == {"succeeded"}, {"states": states}


def _high_came_first(evidence: Evidence) -> Finding:
    """`high-a` was submitted last but one, and started before `low-b` and while `low-a` still ran."""
    high, low_a, low_b = (evidence.job(name) for name in ("high-a", "low-a", "low-b"))
    facts = {"high-a started": high.first_pod_started_at, "low-b started": low_b.first_pod_started_at}
    facts["low-a ended"] = low_a.last_pod_ended_at
    before_low_b = _before(high.first_pod_started_at, low_b.first_pod_started_at)
    before_low_a_ended = _before(high.first_pod_started_at, low_a.last_pod_ended_at)
    return before_low_b and before_low_a_ended, facts


def _low_waited(evidence: Evidence) -> Finding:
    """`low-b` was seen waiting while `low-a` ran, and the service said why."""
    beside = [sample for sample in evidence.samples if sample.jobs["low-a"].state == "running"]
    waits = [sample.jobs["low-b"] for sample in beside if sample.jobs["low-b"].state in WAITING]
    told = {job.reason: job.message for job in waits if job.reason}
    return bool(told), {"samples that show it waiting beside low-a": len(waits), "reasons": told}


def _started_by_itself(waiting: str, holding: str) -> Callable[[Evidence], Finding]:
    """The waiting job started once the holding one had released its GPUs, and not before."""

    def check(evidence: Evidence) -> Finding:
        free, start = evidence.job(holding).last_pod_ended_at, evidence.job(waiting).first_pod_started_at
        ok = free is not None and start is not None and free <= start
        return ok, {f"{holding} released its GPUs": free, f"{waiting} started": start}

    return check


def _within_capability_as_sampled(evidence: Evidence) -> Finding:
    most: dict[str, int] = defaultdict(int)
    ok = True
    for queue in (queue for sample in evidence.samples for queue in sample.queues.values()):
        most[queue.name] = max(most[queue.name], queue.allocated)
        ok = ok and queue.allocated <= queue.capability
    # a queue that was never seen with anything allocated would prove nothing
    ok = ok and all(most.values())
    return ok, {"most allocated": dict(most), "capability": _capabilities(evidence)}


def _within_capability_by_pods(evidence: Evidence) -> Finding:
    capabilities = _capabilities(evidence)
    most = _most_by(evidence, lambda pod: pod.queue)
    ok = set(most) == set(capabilities) and all(0 < most[queue] <= capabilities[queue] for queue in capabilities)
    return ok, {"most in use": most, "capability": capabilities}


def _nodes_not_overbooked(evidence: Evidence) -> Finding:
    most = _most_by(evidence, lambda pod: pod.node or "no node")
    ok = bool(most) and max(most.values()) <= evidence.gpus_per_node
    return ok, {"most in use": most, "GPUs per node": evidence.gpus_per_node}


def _every_pod_on_a_node(evidence: Evidence) -> Finding:
    nodes = {pod.name: pod.node for pod in evidence.end.pods}
    all_have_pods = all(job.pods for job in evidence.end.jobs.values())
    return all_have_pods and all(nodes.values()), {"nodes": nodes}


def _queues_released(evidence: Evidence) -> Finding:
    allocated = {name: queue.allocated for name, queue in evidence.end.queues.items()}
    return not any(allocated.values()), {"allocated at the end": allocated}


def _one_volcano_job_each(evidence: Evidence) -> Finding:
    jobs = evidence.end.jobs.values()
    names = {"/".join(job.k8s) for job in jobs}
    attempts = {job.name: job.attempt for job in jobs}
    return len(names) == len(attempts) and set(attempts.values()) == {1}, {"jobs": sorted(names), "runs": attempts}


def _before(earlier: datetime | None, later: datetime | None) -> bool:
    return earlier is not None and later is not None and earlier < later


def _capabilities(evidence: Evidence) -> dict[str, int]:
    return {name: queue.capability for name, queue in evidence.end.queues.items()}


def _most_by(evidence: Evidence, key: Callable[[PodSeen], str]) -> dict[str, int]:
    groups: dict[str, list[PodSeen]] = defaultdict(list)
    for pod in evidence.end.pods:
        groups[key(pod)].append(pod)
    return {name: most_in_use(pods) for name, pods in sorted(groups.items())}


CHECKS: dict[str, Callable[[Evidence], Finding]] = {
    "all four jobs succeeded": _all_succeeded,
    "high-a went first: before low-b, and beside low-a": _high_came_first,
    "low-b waited while low-a ran, and the service said why": _low_waited,
    "low-b started by itself when low-a released its GPUs": _started_by_itself("low-b", "low-a"),
    "high-b started by itself when high-a released its GPUs": _started_by_itself("high-b", "high-a"),
    "no queue was seen above its capability": _within_capability_as_sampled,
    "no queue's pods ever used more than its capability": _within_capability_by_pods,
    "no node ever had more GPUs in use than it has": _nodes_not_overbooked,
    "every pod has a node": _every_pod_on_a_node,
    "both queues released everything": _queues_released,
    "each job ran once, as one Volcano Job": _one_volcano_job_each,
}
"""The checks by what they prove, in the order in which they are shown."""
