"""How queues share the cluster (volcano-facts 5.5, 7.1)."""

from typing import Any

import pytest

from app.simulator.volcano.scheduler.opening import open_session
from app.simulator.volcano.scheduler.proportion import QueueBook
from app.simulator.volcano.scheduler.snapshot import build_snapshot


def deserved(cluster: Any) -> dict[str, float]:
    """GPUs that each queue deserves in the next session."""
    return {name: book.deserved.get("nvidia.com/gpu", 0.0) / 1000 for name, book in books(cluster).items()}


def books(cluster: Any) -> dict[str, QueueBook]:
    snapshot = build_snapshot(
        cluster.nodes.values(), cluster.pods.values(), cluster.groups.values(), cluster.queues.values()
    )
    return open_session(snapshot, cluster.rng).books


@pytest.fixture
def shared(cluster: Any) -> Any:
    """Weights 2:1 without a capability that binds."""
    cluster.queue("high", weight=2, gpus=6)
    cluster.queue("low", weight=1, gpus=6)
    return cluster


def test_weights_split_what_both_want(shared: Any) -> None:
    shared.job("a", "high", pods=6, gpus=1, minimum=1, limits_only=True)
    shared.job("b", "low", pods=6, gpus=1, minimum=1, limits_only=True)
    shared.settle()
    assert deserved(shared) == {"high": 4.0, "low": 2.0}
    assert (shared.placed("a"), shared.placed("b")) == (4, 2)


def test_queue_at_its_gpu_ceiling_is_not_overused_while_it_wants_more_pods(seed: Any) -> None:
    seed.job("a", "low-priority", pods=6, gpus=1, minimum=1, limits_only=True)
    seed.settle()
    assert not books(seed)["low-priority"].is_overused()
    for number in range(2, 6):
        seed.pods.pop(f"a-worker-{number}")
    assert books(seed)["low-priority"].is_overused()


def test_unused_share_is_borrowed_and_not_given_back(shared: Any) -> None:
    shared.job("low", "low", pods=6, gpus=1, minimum=1, limits_only=True)
    shared.settle()
    assert shared.placed("low") == 6
    shared.job("high", "high", pods=2, gpus=2, limits_only=True)
    shared.settle()
    assert (shared.placed("low"), shared.placed("high")) == (6, 0)
    assert shared.condition("high").endswith("0/3 nodes are unavailable: 3 Insufficient nvidia.com/gpu.")


def test_capability_is_a_ceiling_although_the_cluster_is_empty(seed: Any) -> None:
    seed.job("a", "low-priority", pods=6, gpus=1, minimum=1, limits_only=True)
    seed.settle()
    assert deserved(seed) == {"low-priority": 2.0}
    assert seed.placed("a") == 2


def test_third_queue_strands_gpus(seed: Any) -> None:
    seed.queue("default")
    seed.job("high", "high-priority", pods=2, gpus=2, minimum=1, limits_only=True)
    seed.job("low", "low-priority", pods=1, gpus=2, limits_only=True)
    seed.job("other", "default", pods=4, gpus=1, minimum=1, limits_only=True)
    seed.settle()
    assert deserved(seed) == {"high-priority": 3.0, "low-priority": 1.5, "default": 1.5}
    assert [seed.placed(name) for name in ("high", "low", "other")] == [1, 0, 1]


def test_third_queue_does_not_disturb_what_runs(seed: Any) -> None:
    seed.queue("default")
    seed.job("high", "high-priority", pods=2, gpus=2, limits_only=True)
    seed.job("low", "low-priority", pods=1, gpus=2, limits_only=True)
    seed.settle()
    seed.job("other", "default", pods=1, gpus=1, limits_only=True)
    seed.settle()
    assert [seed.placed(name) for name in ("high", "low", "other")] == [2, 1, 0]
    shares = deserved(seed)
    assert shares["default"] == 1.0
    assert shares["high-priority"] == pytest.approx(10 / 3)
    text = "0/3 nodes are unavailable: 3 Insufficient nvidia.com/gpu."
    assert seed.pod_condition("other-worker-0") == ("Unschedulable", text)


def test_guarantee_is_withheld_from_other_queues(cluster: Any) -> None:
    cluster.queue("sure", guarantee={"resource": {"nvidia.com/gpu": "4"}})
    cluster.queue("free")
    cluster.job("a", "free", pods=6, gpus=1, minimum=1, limits_only=True)
    cluster.settle()
    assert cluster.placed("a") == 2


def test_resource_that_no_node_offers_is_never_enqueued(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("a", "q", pods=1, gpus=1)
    cluster.groups["a"]["spec"]["minResources"] = {"example.com/quantum": "1"}
    cluster.settle()
    assert cluster.phase("a") == "Pending"
    assert ("a", "Normal", "resource in cluster is overused: overused example.com/quantum") in cluster.events


def test_texts_name_every_resource_that_is_short(cluster: Any) -> None:
    cluster.queue("q", capability={"cpu": "1", "nvidia.com/gpu": 1})
    cluster.job("a", "q", pods=2, gpus=1)
    cluster.settle()
    text = "queue resource quota insufficient: insufficient cpu, insufficient nvidia.com/gpu"
    assert ("a", "Normal", text) in cluster.events


def test_overcommit_lets_in_a_fifth_more_than_the_cluster_has(cluster: Any) -> None:
    cluster.queue("full")
    cluster.queue("next")
    cluster.job("running", "full", pods=3, gpus=2)
    cluster.settle()
    cluster.job("two", "next", pods=1, gpus=2)
    cluster.job("one", "next", pods=1, gpus=1)
    cluster.settle()
    assert (cluster.phase("two"), cluster.phase("one")) == ("Pending", "Inqueue")


def test_running_job_reserves_what_its_pods_do_not_hold_yet(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("running", "q", pods=2, gpus=1)
    cluster.groups["running"]["spec"]["minResources"]["nvidia.com/gpu"] = "3"
    cluster.settle()
    cluster.queue("other")
    cluster.job("next", "other", pods=5, gpus=1)
    cluster.settle()
    assert ("next", "Normal", "resource in cluster is overused: overused nvidia.com/gpu") in cluster.events


def test_allocated_counts_for_every_ancestor(cluster: Any) -> None:
    cluster.queue("parent")
    cluster.queue("child")
    cluster.queues["child"]["spec"]["parent"] = "parent"
    cluster.job("a", "child", pods=1, gpus=2)
    cluster.settle()
    assert [cluster.allocated(name)["nvidia.com/gpu"] for name in ("child", "parent", "root")] == ["2", "2", "2"]
