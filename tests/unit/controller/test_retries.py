"""What runs again after pods failed, by cause, by rule and by how often they failed before."""

from dataclasses import replace
from typing import Any

import pytest

from app.controller.facts import KILLED, JobFacts, PodFacts
from app.controller.plan import JobPlan, Rule, TaskPlan
from app.controller.retries import MOST_DISRUPTIONS, Cause, Verdict, cause_of, judge
from tests.unit.controller.situations import ago, pod, row

DISRUPTIONS = [
    *("Evicted", "NodeLost", "NodeShutdown", "Preempting", "PreemptionByScheduler", "DeletionByTaintManager"),
    *("EvictionByEvictionAPI", "DeletionByPodGC", "TerminationByKubelet"),
]


def rule(action: str, *codes: int, causes: tuple[str, ...] = ()) -> Rule:
    return Rule(frozenset(codes), frozenset(causes), action)


def job(*, independent: bool = False, retries: int = 0, rules: tuple[Rule, ...] = (), **facts: Any) -> JobFacts:
    plan = JobPlan((TaskPlan("worker", range(3), 3),), independent, retries, rules)
    return row(plan=plan, replicas=3, **facts)


def failed(index: int, **facts: Any) -> PodFacts:
    uid = f"pod-{index}-{facts.get('attempt', 1)}"
    return pod(index, "Failed", **{"uid": uid, **facts})


def indices(verdict: Verdict) -> list[int]:
    return [each.index for each in verdict.pods]


@pytest.mark.parametrize("reason", DISRUPTIONS)
def test_a_disruption_is_nobodys_fault(reason: str) -> None:
    assert cause_of(failed(0, reason=reason, exit_code=137)) is Cause.DISRUPTED


@pytest.mark.parametrize(
    ("reason", "cause"), [("OOMKilled", "OOMKilled"), ("Error", "Error"), (None, "Error"), ("StartError", "Error")]
)
def test_what_ends_by_itself_is_an_error_unless_it_took_too_much_memory(reason: str | None, cause: str) -> None:
    assert cause_of(failed(0, reason=reason)) == cause


@pytest.mark.parametrize(
    ("retries", "used", "again"), [(0, 0, False), (1, 0, True), (1, 1, False), (3, 2, True), (3, 3, False)]
)
def test_a_gang_runs_again_as_a_whole_as_often_as_it_may(retries: int, used: int, again: bool) -> None:
    facts = replace(job(retries=retries), retries=used, attempt=used + 1)
    verdict = judge(facts, [failed(0, attempt=used + 1), pod(1)])
    assert (verdict.whole, verdict.counted, verdict.pods) == (again, True, ())


@pytest.mark.parametrize("reason", ["Evicted", "NodeLost", "PreemptionByScheduler"])
def test_a_disrupted_gang_runs_again_without_using_a_retry_up(reason: str) -> None:
    verdict = judge(job(retries=0), [failed(0, reason=reason), pod(1)])
    assert (verdict.whole, verdict.counted) == (True, False)


def test_a_gang_that_is_always_disrupted_ends() -> None:
    for disruptions, again in ((MOST_DISRUPTIONS - 1, True), (MOST_DISRUPTIONS, False)):
        facts = replace(job(), attempt=disruptions + 1)
        assert judge(facts, [failed(0, reason="Evicted", attempt=disruptions + 1)]).whole is again


def test_suspensions_are_no_disruptions() -> None:
    facts = replace(job(), attempt=MOST_DISRUPTIONS + 5, resumes=10)
    assert judge(facts, [failed(0, reason="Evicted", attempt=facts.attempt)]).whole


def test_of_a_gang_the_pod_that_failed_first_decides() -> None:
    evicted_first = [failed(0, reason="Evicted", ended_at=ago(20)), failed(1, ended_at=ago(10))]
    assert judge(job(), evicted_first).counted is False
    crashed_first = [failed(0, reason="Evicted", ended_at=ago(10)), failed(1, ended_at=ago(20))]
    assert judge(job(), crashed_first) == Verdict(whole=False, counted=True, because_of=crashed_first[1])


def test_failures_of_earlier_runs_are_no_news() -> None:
    facts = replace(job(retries=3), attempt=2, attempt_base=1)
    assert not judge(facts, [failed(0, attempt=1, gone=True), pod(0, attempt=2)]).again


@pytest.mark.parametrize(
    ("rules", "facts", "again"),
    [
        ((rule("restart_task", 3),), {"exit_code": 3}, True),
        ((rule("restart_task", 3),), {"exit_code": 4}, False),
        ((rule("restart_job", causes=("OOMKilled",)),), {"reason": "OOMKilled", "exit_code": 137}, True),
        ((rule("restart_job", causes=("OOMKilled",)),), {"exit_code": 1}, False),
        ((rule("fail", 3), rule("restart_job", causes=("Error",))), {"exit_code": 3}, False),
        ((rule("fail", 3), rule("restart_job", causes=("Error",))), {"exit_code": 4}, True),
        ((rule("restart_task", 3),), {"reason": "Evicted", "exit_code": 137}, True),
        ((rule("fail", 137),), {"reason": "Evicted", "exit_code": 137}, True),
        ((rule("fail", causes=("Disrupted",)),), {"reason": "Evicted"}, False),
    ],
)
def test_the_first_rule_that_fits_decides(rules: tuple[Rule, ...], facts: dict[str, Any], again: bool) -> None:
    assert judge(job(retries=1, rules=rules), [failed(0, **facts)]).again is again
    alone = judge(job(retries=1, rules=rules, independent=True), [failed(0, **facts)])
    assert alone.again is again


def test_independent_pods_run_again_one_by_one() -> None:
    pods = [pod(0, "Succeeded"), failed(1), pod(2)]
    verdict = judge(job(independent=True, retries=1), pods)
    assert (verdict.whole, indices(verdict)) == (False, [1])


def test_each_index_has_its_own_retries() -> None:
    pods = [
        failed(0, gone=True, created_at=ago(90)),
        failed(0, attempt=2),
        failed(1),
        failed(2, gone=True, reason="Evicted", created_at=ago(90)),
        failed(2, attempt=2),
    ]
    assert indices(judge(job(independent=True, retries=1), pods)) == [1, 2]


def test_a_pod_that_runs_again_is_not_judged_by_the_one_before() -> None:
    pods = [failed(0, gone=True, created_at=ago(90)), pod(0, uid="second", attempt=2)]
    assert not judge(job(independent=True, retries=5), pods).again


def test_a_pod_that_is_always_evicted_fails_in_the_end() -> None:
    pods = [
        failed(0, attempt=n, reason="Evicted", gone=True, created_at=ago(900 - n))
        for n in range(1, MOST_DISRUPTIONS + 1)
    ]
    assert indices(judge(job(independent=True), pods)) == [0]
    last = failed(0, attempt=MOST_DISRUPTIONS + 1, reason="Evicted", created_at=ago(1))
    assert not judge(job(independent=True), [*pods, last]).again


def test_a_pod_that_we_killed_did_not_fail() -> None:
    assert not judge(job(independent=True, retries=1), [failed(0, reason=KILLED)]).again


def test_an_independent_pod_may_make_the_whole_job_run_again() -> None:
    facts = job(independent=True, retries=1, rules=(rule("restart_job", 3), rule("restart_task", 4)))
    verdict = judge(facts, [failed(0, exit_code=4), failed(1, exit_code=3)])
    assert (verdict.whole, verdict.counted, verdict.pods) == (True, True, ())
