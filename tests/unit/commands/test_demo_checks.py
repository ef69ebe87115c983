"""Each check of the demo is true for a good run, and false for a run that is spoiled in just the way it looks for."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.commands.demo_checks import CHECKS, Evidence, judge
from app.commands.demo_evidence import JobSeen, PodSeen, QueueSeen, Sample
from app.commands.demo_report import report
from app.commands.demo_scenario import JOBS, QUEUES

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RUNS = {"low-a": (0, 4), "low-b": (5, 9), "high-a": (1, 5), "high-b": (5, 9)}
NODES = {
    "low-a": ["node-0", "node-0"],
    "low-b": ["node-0", "node-1"],
    "high-a": ["node-1", "node-1", "node-2", "node-2"],
    "high-b": ["node-1", "node-2"],
}


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


def job_at(name: str, queue: str, at: float) -> JobSeen:
    begins, ends = RUNS[name]
    state = "pending" if at < begins else "running" if at < ends else "succeeded"
    pods = tuple(
        PodSeen(
            job=name,
            queue=queue,
            name=f"{name}-{index}",
            phase={"pending": "Pending", "running": "Running", "succeeded": "Succeeded"}[state],
            node=node,
            gpus=1,
            started_at=second(begins) if state != "pending" else None,
            ended_at=second(ends) if state == "succeeded" else None,
        )
        for index, node in enumerate(NODES[name])
    )
    return JobSeen(
        name=name,
        queue=queue,
        gpus=len(pods),
        state=state,
        reason="QueueOverused" if state == "pending" else None,
        message=None,
        k8s=("team", name),
        attempt=1,
        submitted_at=second(0),
        started_at=second(begins) if state != "pending" else None,
        ended_at=second(ends) if state == "succeeded" else None,
        pods=pods,
    )


def sample_at(at: float) -> Sample:
    jobs = {job.name: job_at(job.name, job.queue, at) for job in JOBS}
    queues = {
        queue.name: QueueSeen(
            name=queue.name,
            capability=queue.capability,
            allocated=sum(len(job.pods) for job in jobs.values() if job.queue == queue.name and job.state == "running"),
            pod_groups={"running": 1},
        )
        for queue in QUEUES
    }
    return Sample(at=at, jobs=jobs, queues=queues)


def good_run() -> Evidence:
    return Evidence([sample_at(at) for at in (0, 2, 4.5, 6, 9)], gpus_per_node=2)


def with_job(evidence: Evidence, name: str, **changes: Any) -> Evidence:
    """The same run with a job changed in every sample."""
    samples = [replace(s, jobs={**s.jobs, name: replace(s.jobs[name], **changes)}) for s in evidence.samples]
    return replace(evidence, samples=samples)


def with_pods(evidence: Evidence, name: str, **changes: Any) -> Evidence:
    return with_job(evidence, name, pods=tuple(replace(pod, **changes) for pod in evidence.end.jobs[name].pods))


def with_queue(evidence: Evidence, name: str, **changes: Any) -> Evidence:
    samples = [replace(s, queues={**s.queues, name: replace(s.queues[name], **changes)}) for s in evidence.samples]
    return replace(evidence, samples=samples)


SPOILED: dict[str, list[Callable[[Evidence], Evidence]]] = {
    "all four jobs succeeded": [lambda run: with_job(run, "high-b", state="failed")],
    "high-a went first: before low-b, and beside low-a": [
        lambda run: with_pods(run, "high-a", started_at=second(6)),
        lambda run: with_pods(run, "high-a", started_at=None),
        lambda run: with_pods(run, "low-a", ended_at=second(1)),
    ],
    "low-b waited while low-a ran, and the service said why": [
        lambda run: with_job(run, "low-b", reason=None),
        lambda run: with_job(run, "low-b", state="running"),
        lambda run: replace(run, samples=run.samples[-2:]),
    ],
    "low-b started by itself when low-a released its GPUs": [
        lambda run: with_pods(run, "low-b", started_at=second(3)),
        lambda run: with_pods(run, "low-b", started_at=None),
        lambda run: with_pods(run, "low-a", ended_at=None),
    ],
    "high-b started by itself when high-a released its GPUs": [
        lambda run: with_pods(run, "high-b", started_at=second(4))
    ],
    "no queue was seen above its capability": [
        lambda run: with_queue(run, "low-priority", allocated=3),
        lambda run: with_queue(run, "high-priority", allocated=0),
    ],
    "no queue's pods ever used more than its capability": [
        lambda run: with_pods(run, "low-b", started_at=second(3)),
        lambda run: with_job(with_job(run, "low-a", pods=()), "low-b", pods=()),
    ],
    "no node ever had more GPUs in use than it has": [
        lambda run: with_pods(run, "low-a", node="node-1"),
        lambda run: replace(run, gpus_per_node=1),
    ],
    "every pod has a node": [
        lambda run: with_pods(run, "high-a", node=None),
        lambda run: with_job(run, "high-a", pods=()),
    ],
    "both queues released everything": [lambda run: with_queue(run, "low-priority", allocated=2)],
    "each job ran once, as one Volcano Job": [
        lambda run: with_job(run, "low-a", attempt=2),
        lambda run: with_job(run, "low-a", k8s=("team", "low-b")),
    ],
}


def test_a_good_run_passes_every_check() -> None:
    assert [verdict.check for verdict in judge(good_run()) if not verdict.ok] == []


def test_every_check_has_a_run_that_it_refuses() -> None:
    assert set(SPOILED) == set(CHECKS)


@pytest.mark.parametrize(
    ("check", "spoil"),
    [(check, spoil) for check, spoils in SPOILED.items() for spoil in spoils],
    ids=[f"{check} {number}" for check, spoils in SPOILED.items() for number in range(len(spoils))],
)
def test_a_check_refuses_a_spoiled_run(check: str, spoil: Callable[[Evidence], Evidence]) -> None:
    verdicts = {verdict.check: verdict for verdict in judge(spoil(good_run()))}
    assert not verdicts[check].ok
    assert verdicts[check].facts


def test_a_pod_that_ends_in_the_second_in_which_another_starts_makes_room_for_it() -> None:
    run = with_pods(good_run(), "low-b", started_at=second(4))
    verdicts = {verdict.check: verdict.ok for verdict in judge(run)}
    assert verdicts["no queue's pods ever used more than its capability"]
    assert verdicts["low-b started by itself when low-a released its GPUs"]


def test_the_report_tells_allocations_by_their_changes() -> None:
    run = good_run()
    told = report(run.samples, judge(run))
    assert told["ok"] is True
    assert [job["name"] for job in told["jobs"]] == ["low-a", "low-b", "high-a", "high-b"]
    low = next(queue for queue in told["queues"] if queue["name"] == "low-priority")
    assert low["allocated"] == [
        {"at": 0, "gpus": 2},
        {"at": 4.5, "gpus": 0},
        {"at": 6, "gpus": 2},
        {"at": 9, "gpus": 0},
    ]


def test_a_report_with_a_false_check_is_not_ok() -> None:
    run = with_job(good_run(), "high-b", state="failed")
    assert report(run.samples, judge(run))["ok"] is False


def test_a_run_is_settled_when_all_jobs_ended_and_the_queues_show_it() -> None:
    assert [sample.settled for sample in good_run().samples] == [False, False, False, False, True]
    assert not with_queue(good_run(), "low-priority", allocated=1).end.settled
