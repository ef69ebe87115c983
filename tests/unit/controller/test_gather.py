"""From rows and caches to facts: which attempt and which index a pod is, and why it ended."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from app.cluster.observed import ObservedPod
from app.controller import gather
from app.controller.facts import KILLED, JobFacts
from app.controller.plan import JobPlan, TaskPlan
from app.jobs.states import Ending, JobState
from tests.unit.controller.situations import NOW, ago, row

SHARDS = JobPlan((TaskPlan("worker", range(10), 10),), independent=True)


def seen(index: int, phase: str = "Running", **facts: Any) -> ObservedPod:
    standard: dict[str, Any] = {
        **dict.fromkeys(ObservedPod.__dataclass_fields__),
        "uid": f"uid-{index}-{phase}",
        "name": f"a-worker-{index}",
        "task": "worker",
        "index": index,
        "phase": phase,
        "reason": "",
        "message": "",
        "disruption": "",
        "restarts": 0,
        "resources": {},
        "gates": (),
        "deleting": False,
        "created_at": ago(60),
        "retry_count": 0,
        "progress_is_strange": False,
    }
    return ObservedPod(**{**standard, **facts})


def recorded(index: int, phase: str, **facts: Any) -> Any:
    standard = {
        "uid": f"uid-{index}-{phase}",
        "name": f"a-worker-{index}",
        "task": "worker",
        "index": index,
        "attempt": 1,
        "phase": phase,
        "node": "gpu-1",
        "exit_code": None,
        "reason": None,
        "message": None,
        "restarts": 0,
        "resources": {},
        "created_at": ago(90),
        "started_at": None,
        "ended_at": None,
        "gone_at": None,
        "progress": None,
    }
    return SimpleNamespace(**{**standard, **facts})


def facts_of(job: JobFacts, pods: list[ObservedPod], rows: list[Any] | None = None) -> Any:
    return gather.pod_facts(job, pods, [], rows or [], NOW, complete=True)


def test_a_run_of_some_indices_knows_which_its_pods_are() -> None:
    job = row(plan=SHARDS, run_indices={"worker": [3, 7]}, attempt_base=2)
    first, second = facts_of(job, [seen(0), seen(1)])
    assert [(each.index, each.attempt) for each in (first, second)] == [(3, 3), (7, 3)]


def test_chosen_indices_of_an_array_are_those_of_its_pods() -> None:
    plan = JobPlan((TaskPlan("worker", [4, 8], 2),), independent=True)
    assert [each.index for each in facts_of(row(plan=plan), [seen(0), seen(1)])] == [4, 8]


def test_a_shard_that_follows_a_failed_one_is_its_next_attempt() -> None:
    job = row(plan=SHARDS)
    pods = facts_of(
        job,
        [seen(0), seen(1, created_at=ago(1))],
        [recorded(1, "Failed", created_at=ago(50)), recorded(2, "Running", gone_at=ago(5))],
    )
    assert {(each.index, each.phase): each.attempt for each in pods} == {
        (0, "Running"): 1,
        (1, "Failed"): 1,
        (1, "Running"): 2,
        (2, "Running"): 1,
    }


def test_a_pod_keeps_the_attempt_that_was_recorded() -> None:
    (pod,) = facts_of(row(plan=SHARDS), [seen(0)], [recorded(0, "Running", attempt=4)])
    assert pod.attempt == 4


@pytest.mark.parametrize(
    ("facts", "job", "reason"),
    [
        ({"reason": "Error"}, {}, "Error"),
        ({"reason": "Error", "disruption": "PreemptionByScheduler"}, {}, "PreemptionByScheduler"),
        ({"reason": "OOMKilled", "disruption": "PreemptionByScheduler"}, {}, "OOMKilled"),
        ({"reason": "Evicted", "disruption": "TerminationByKubelet"}, {}, "Evicted"),
        ({"reason": "Error", "deleting": True}, {}, "Error"),
        ({"reason": "Error", "deleting": True}, {"state": JobState.SUSPENDING}, KILLED),
        ({"reason": "Error", "deleting": True}, {"ending": Ending.RESTART}, KILLED),
        ({"reason": "Error", "deleting": False}, {"ending": Ending.RESTART}, "Error"),
        ({"reason": "OOMKilled", "deleting": True}, {"ending": Ending.RESTART}, "OOMKilled"),
    ],
)
def test_a_failed_pod_has_the_reason_that_says_most(facts: Any, job: Any, reason: str) -> None:
    (pod,) = facts_of(row(plan=SHARDS, **job), [seen(0, "Failed", **facts)])
    assert pod.reason == reason


@pytest.mark.parametrize(
    ("phase", "reason"), [("Succeeded", ""), ("Failed", "Error"), ("Failed", "ContainerStatusUnknown")]
)
def test_a_pod_that_ends_because_it_is_told_to_is_not_done(phase: str, reason: str) -> None:
    job = row(plan=SHARDS, state=JobState.SUSPENDING)
    (pod,) = facts_of(job, [seen(0, phase, reason=reason, deleting=True)])
    assert (pod.phase, pod.reason) == ("Failed", KILLED)
    (kept,) = facts_of(job, [seen(0, phase, reason=reason)])
    assert kept.phase == phase


def test_a_failure_that_was_recorded_stays_one_when_the_job_is_stopped_later() -> None:
    job = row(plan=SHARDS, state=JobState.SUSPENDING)
    rows = [recorded(0, "Failed", reason="Error")]
    (pod,) = facts_of(job, [seen(0, "Failed", reason="Error", deleting=True)], rows)
    assert pod.reason == "Error"


def test_a_job_that_begins_to_wait_has_its_deadline() -> None:
    assert gather.waiting_facts({}, NOW) == {"waiting_since": NOW, "queue_deadline_at": None}
    assert gather.waiting_facts({"queue_timeout_seconds": 5}, NOW)["queue_deadline_at"] == NOW + timedelta(seconds=5)


@pytest.mark.parametrize(
    ("spec", "independent", "needed", "indices"),
    [
        ({"tasks": [{"name": "a", "replicas": 3}]}, False, 3, [0, 1, 2]),
        ({"tasks": [{"name": "a", "replicas": 3}], "min_available": 2}, True, 2, [0, 1, 2]),
        ({"tasks": [{"name": "a", "replicas": 3}], "min_success": 3}, True, 3, [0, 1, 2]),
        ({"tasks": [{"name": "a", "replicas": 2, "array": {"size": 9, "indices": [8, 3]}}]}, True, 1, [3, 8]),
    ],
)
def test_reads_the_plan_of_a_stored_spec(spec: Any, independent: bool, needed: int, indices: list[int]) -> None:
    plan = gather.plan_of(spec)
    assert (plan.independent, gather.all_needed(spec)) == (independent, needed)
    assert list(plan.tasks[0].indices) == indices
