"""Pods behind scheduling gates: not scheduled, not explained, and nothing is kept free for them (Volcano v1.15.1)."""

from typing import Any

import pytest

GATES = {"schedulingGates": [{"name": "example.com/turn"}]}
CAPACITY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: capacity}]
"""
OVERCOMMIT = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: overcommit}]
"""
RECLAIM = """
actions: "enqueue, allocate, backfill, reclaim, preempt"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false, enableReclaimable: false}
  - {name: predicates}
  - {name: proportion}
"""


def lift(cluster: Any, job: str, *indices: int) -> None:
    for index in indices:
        del cluster.pods[f"{job}-worker-{index}"]["spec"]["schedulingGates"]


def bound(cluster: Any, job: str) -> list[int]:
    pods = cluster.pods_of(job)
    return [index for index, pod in enumerate(pods) if pod["spec"].get("nodeName")]


def test_gated_pods_are_left_to_the_api_server(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("a", "q", pods=1, gpus=1, limits_only=True, spec=GATES)
    cluster.settle()
    assert cluster.placed("a") == 0
    assert "conditions" not in cluster.pods["a-worker-0"]["status"]


def test_pods_are_scheduled_as_their_gates_are_lifted(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("a", "q", pods=6, gpus=1, minimum=1, spec=GATES)
    cluster.settle()
    assert (cluster.phase("a"), bound(cluster, "a")) == ("Inqueue", [])
    lift(cluster, "a", 1, 4)
    cluster.settle()
    assert (cluster.phase("a"), bound(cluster, "a")) == ("Running", [1, 4])
    lift(cluster, "a", 0)
    cluster.settle()
    assert bound(cluster, "a") == [0, 1, 4]


def test_a_gang_waits_for_its_last_gate(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("a", "q", pods=3, gpus=1, spec=GATES)
    cluster.settle()
    fit = "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 3 Unschedulable"
    assert cluster.condition("a") == f"3/3 tasks in gang unschedulable: {fit}"
    assert ("a", "Warning", f"3/3 tasks in gang unschedulable: {fit}") in cluster.events
    lift(cluster, "a", 0, 2)
    cluster.settle()
    assert (cluster.phase("a"), bound(cluster, "a")) == ("Inqueue", [])
    assert cluster.condition("a") == (
        "1/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; "
        "Pending: 1 Unschedulable, 2 Schedulable"
    )
    reason, message = cluster.pod_condition("a-worker-2")
    assert reason == "Schedulable"
    assert message.endswith("once minAvailable is satisfied")
    assert "conditions" not in cluster.pods["a-worker-1"]["status"]
    lift(cluster, "a", 1)
    cluster.settle()
    assert (cluster.phase("a"), bound(cluster, "a")) == ("Running", [0, 1, 2])


@pytest.mark.parametrize(
    ("configuration", "free"),
    [(None, 2), (CAPACITY, 2), (OVERCOMMIT, 6)],
    ids=["proportion", "capacity", "overcommit"],
)
def test_gated_pods_keep_nothing_from_other_jobs(cluster: Any, configuration: str | None, free: int) -> None:
    if configuration:
        cluster.configure(configuration)
    cluster.queue("q", gpus=free)
    cluster.job("gated", "q", pods=free, gpus=1, spec=GATES)
    cluster.settle()
    assert cluster.phase("gated") == "Inqueue"
    cluster.job("other", "q", pods=free, gpus=1)
    cluster.settle()
    assert cluster.placed("other") == free


def test_pods_whose_gates_are_lifted_are_kept_room_for(cluster: Any) -> None:
    cluster.queue("q", gpus=3)
    cluster.job("gated", "q", pods=3, gpus=1, spec=GATES)
    cluster.settle()
    lift(cluster, "gated", 0)
    cluster.settle()
    cluster.job("large", "q", pods=3, gpus=1)
    cluster.job("small", "q", pods=2, gpus=1)
    cluster.settle()
    assert (cluster.phase("large"), cluster.placed("small")) == ("Pending", 2)


def test_gated_pods_beyond_the_gang_are_taken_off_it_too(cluster: Any) -> None:
    """What is kept free is minResources less what all gated pods ask for, so one gate too many frees it all."""
    cluster.queue("q", gpus=2)
    cluster.job("gated", "q", pods=4, gpus=1, minimum=2, spec=GATES)
    cluster.settle()
    for node in cluster.nodes.values():
        node["spec"] = {"unschedulable": True}
    lift(cluster, "gated", 0, 1)
    cluster.settle()
    assert cluster.phase("gated") == "Inqueue"
    cluster.job("other", "q", pods=2, gpus=1)
    cluster.settle()
    assert cluster.phase("other") == "Inqueue"


def test_nobody_is_evicted_for_gated_pods(cluster: Any) -> None:
    cluster.configure(RECLAIM)
    cluster.priority_class("urgent", 1000)
    for queue in ("borrower", "owner"):
        cluster.queue(queue, gpus=6)
    cluster.job("old", "borrower", pods=6, gpus=1, minimum=1, limits_only=True)
    cluster.settle()
    cluster.job("taker", "owner", pods=2, gpus=1, limits_only=True, spec=GATES)
    cluster.job("urgent", "borrower", pods=1, gpus=1, limits_only=True, priority_class="urgent", spec=GATES)
    cluster.settle()
    assert cluster.evicted == []
    lift(cluster, "taker", 0, 1)
    cluster.settle()
    assert cluster.placed("taker") == 2
    assert {reason for _, reason in cluster.evicted} == {"reclaim"}
