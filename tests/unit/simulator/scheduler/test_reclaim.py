"""What reclaim does under which configuration (volcano-facts 5.7, 5.8 and 7.4; the rows' numbers are those of 5.8)."""

from typing import Any

import pytest

STOCK_TIERS = """
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false}
  - {name: conformance}
- plugins:
  - {name: overcommit}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: binpack}
"""
ONE_TIER = """
tiers:
- plugins:
  - {name: priority}
  - {name: gang%s}
  - {name: conformance}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: binpack, arguments: {binpack.resources: nvidia.com/gpu, binpack.resources.nvidia.com/gpu: 5}}
"""
ACTIONS = 'actions: "enqueue, allocate, backfill, reclaim"\n'
STOCK = ACTIONS + STOCK_TIERS
GANG_VOTES = ACTIONS + ONE_TIER % ""
GANG_ABSTAINS = ACTIONS + ONE_TIER % ", enableReclaimable: false"
CAPACITY = GANG_ABSTAINS.replace("proportion", "capacity")
OVERUSED = "resource in cluster is overused: overused nvidia.com/gpu"


@pytest.fixture
def shared(cluster: Any) -> Any:
    """Weights 2:1, and nothing but the cluster's size limits a queue."""
    cluster.queue("high", weight=2, gpus=6)
    cluster.queue("low", weight=1, gpus=6)
    return cluster


def borrow(cluster: Any, kind: str) -> tuple[str, ...]:
    """Have the queue `low` use all six GPUs."""
    if kind == "singles":
        jobs = tuple(f"low-{number}" for number in range(3))
        for name in jobs:
            cluster.job(name, "low", pods=1, gpus=2)
    else:
        jobs = ("low",)
        cluster.job("low", "low", pods=3, gpus=2, minimum=1 if kind == "elastic" else 3)
    cluster.settle()
    assert held(cluster, jobs) == 6
    return jobs


def held(cluster: Any, jobs: tuple[str, ...]) -> int:
    """GPUs of some jobs of two-GPU pods."""
    return 2 * sum(cluster.placed(name) for name in jobs)


def own(cluster: Any, *, limits_only: bool = False, pods: int = 2) -> int:
    """Have the queue `high` want some; answer what it gets."""
    cluster.job("high", "high", pods=pods, gpus=2, limits_only=limits_only)
    cluster.settle()
    return held(cluster, ("high",))


def test_r0_nothing_is_reclaimed_by_default(shared: Any) -> None:
    jobs = borrow(shared, "elastic")
    assert (own(shared, limits_only=True), held(shared, jobs)) == (0, 6)
    assert shared.evicted == []


def test_r1_elastic_borrower_gives_back_in_the_stock_tiers(shared: Any) -> None:
    shared.configure(STOCK)
    jobs = borrow(shared, "elastic")
    assert (own(shared, limits_only=True), held(shared, jobs)) == (4, 2)
    assert [reason for _, reason in shared.evicted] == ["reclaim", "reclaim"]


def test_r2_overcommit_keeps_the_owner_out(shared: Any) -> None:
    shared.configure(STOCK)
    jobs = borrow(shared, "elastic")
    assert (own(shared), held(shared, jobs)) == (0, 6)
    assert ("high", "Normal", OVERUSED) in shared.events
    assert shared.phase("high") == "Pending"


def test_r2b_owner_that_fits_the_slack_reclaims(shared: Any) -> None:
    shared.configure(STOCK)
    jobs = borrow(shared, "elastic")
    shared.job("high", "high", pods=1, gpus=1)
    shared.settle()
    assert (shared.placed("high"), held(shared, jobs)) == (1, 4)


@pytest.mark.parametrize("kind", ["singles", "rigid"])
def test_r3_r4_rigid_gangs_are_broken_through_the_second_tier(shared: Any, kind: str) -> None:
    """Gang protects them in the first tier, which then names nobody, so that proportion alone is asked."""
    shared.configure(STOCK)
    jobs = borrow(shared, kind)
    assert (own(shared, limits_only=True), held(shared, jobs)) == (4, 2)
    if kind == "rigid":
        assert shared.phase("low") == "Unknown"
        counts = "1 Running, 2 Pending, 3 minAvailable; Pending: 2 Unschedulable"
        assert shared.condition("low") == f"2/3 tasks in gang unschedulable: pod group is not ready, {counts}"


def test_r5_capacity_gives_what_is_deserved_and_no_more(cluster: Any) -> None:
    cluster.configure(CAPACITY)
    cluster.queue("high", gpus=6, deserved={"nvidia.com/gpu": 4})
    cluster.queue("low", gpus=6, deserved={"nvidia.com/gpu": 2})
    jobs = borrow(cluster, "elastic")
    assert (own(cluster), held(cluster, jobs)) == (4, 2)
    cluster.job("more", "high", pods=1, gpus=2)
    cluster.settle()
    assert (cluster.placed("more"), held(cluster, jobs)) == (0, 2)


@pytest.mark.parametrize("kind", ["singles", "rigid"])
def test_r6_rigid_gangs_are_safe_when_gang_votes_in_the_only_tier(shared: Any, kind: str) -> None:
    shared.configure(GANG_VOTES)
    jobs = borrow(shared, kind)
    assert (own(shared), held(shared, jobs)) == (0, 6)


@pytest.mark.parametrize("limits_only", [True, False])
def test_r7_elastic_borrower_gives_back_when_gang_votes_in_the_only_tier(shared: Any, *, limits_only: bool) -> None:
    shared.configure(GANG_VOTES)
    jobs = borrow(shared, "elastic")
    assert (own(shared, limits_only=limits_only), held(shared, jobs)) == (4, 2)


@pytest.mark.parametrize(("pods", "gets"), [(3, 0), (2, 4)])
def test_r8_a_gang_reclaims_if_all_of_it_fits_what_the_queue_deserves(shared: Any, pods: int, gets: int) -> None:
    shared.configure(GANG_ABSTAINS)
    jobs = borrow(shared, "singles")
    assert (own(shared, pods=pods), held(shared, jobs)) == (gets, 6 - gets)
    assert len(shared.evicted) == gets // 2


@pytest.mark.parametrize("kind", ["singles", "elastic", "rigid"])
def test_borrowed_share_is_given_back_and_borrowed_again(shared: Any, kind: str) -> None:
    """The configuration of 7.4: a further job of the owner waits; once it is done, the borrower has all again."""
    shared.configure(GANG_ABSTAINS)
    jobs = borrow(shared, kind)
    assert (own(shared), held(shared, jobs)) == (4, 2)
    assert shared.phase("high") == "Running"
    shared.job("more", "high", pods=1, gpus=2)
    shared.settle()
    assert (shared.placed("more"), held(shared, jobs)) == (0, 2)
    shared.groups.pop("more")
    shared.finish("high")
    shared.settle()
    assert held(shared, jobs) == 6


def test_pods_beyond_min_available_reclaim_nothing(shared: Any) -> None:
    """minAvailable 1 and a deserved share of four GPUs: only one pod of two GPUs is reclaimed for."""
    shared.configure(GANG_ABSTAINS)
    jobs = borrow(shared, "elastic")
    shared.job("high", "high", pods=2, gpus=2, minimum=1)
    shared.settle()
    assert (held(shared, ("high",)), held(shared, jobs)) == (2, 4)


@pytest.mark.parametrize("safe", ["queue", "annotation", "label", "namespace"])
def test_who_is_never_reclaimed(shared: Any, safe: str) -> None:
    shared.configure(GANG_ABSTAINS)
    jobs = borrow(shared, "elastic")
    if safe == "queue":
        shared.queues["low"]["spec"]["reclaimable"] = False
    for pod in shared.pods_of("low"):
        if safe == "annotation":
            pod["metadata"]["annotations"]["volcano.sh/preemptable"] = "false"
        elif safe == "label":
            pod["metadata"]["labels"] = {"volcano.sh/preemptable": "no idea"}
        elif safe == "namespace":
            pod["spec"]["priorityClassName"] = "system-node-critical"
    assert (own(shared), held(shared, jobs)) == (0, 6)


def test_who_may_not_preempt_does_not_reclaim(shared: Any) -> None:
    shared.configure(GANG_ABSTAINS)
    jobs = borrow(shared, "elastic")
    shared.job("high", "high", pods=2, gpus=2, spec={"preemptionPolicy": "Never"})
    shared.settle()
    assert (shared.placed("high"), held(shared, jobs)) == (0, 6)


def test_of_a_node_the_pod_that_was_served_last_goes_first(shared: Any) -> None:
    shared.configure(GANG_ABSTAINS)
    shared.job("low", "low", pods=6, gpus=1, minimum=1)
    shared.settle()
    there = [pod["metadata"]["uid"] for pod in shared.pods_of("low") if pod["spec"]["nodeName"] == "gpu-1"]
    shared.job("high", "high", pods=2, gpus=1)
    shared.settle()
    assert shared.evicted == [(max(there), "reclaim"), (min(there), "reclaim")]


def test_texts_while_room_is_being_made(shared: Any) -> None:
    shared.configure(GANG_ABSTAINS)
    borrow(shared, "elastic")
    shared.job("high", "high", pods=2, gpus=2)
    for _ in range(2):
        shared.session()
    nodes = "0/3 nodes are unavailable: 3 Insufficient nvidia.com/gpu."
    fit = f"pod group is not ready, 2 Pipelined, 2 minAvailable. Origin reason is high-worker-0: {nodes}"
    assert shared.condition("high") == f"2/2 tasks in gang unschedulable: {fit}"
    assert ("high", "Warning", f"0/2 tasks in gang unschedulable: {fit}") in shared.events
    reason, message = shared.pod_condition("high-worker-0")
    assert reason == "Unschedulable"
    nominated = shared.pods["high-worker-0"]["status"]["nominatedNodeName"]
    once = "once resource is released and minAvailable is satisfied"
    assert message == f"Pod team/high-worker-0 can possibly be assigned to {nominated}, {once}"


def test_gang_that_finds_too_little_evicts_nobody_but_says_where_it_tried(shared: Any) -> None:
    """As in recording 27: what was given up is told, with the node it would have been."""
    shared.configure(GANG_ABSTAINS)
    jobs = borrow(shared, "singles")
    assert own(shared, pods=3) == 0
    assert held(shared, jobs) == 6
    assert shared.pods["high-worker-0"]["status"]["nominatedNodeName"] in shared.nodes
    assert shared.pod_condition("high-worker-0")[1].endswith("once resource is released and minAvailable is satisfied")
    assert "nominatedNodeName" not in shared.pods["high-worker-2"]["status"]
