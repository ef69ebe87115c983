"""Who comes first (volcano-facts 5.5)."""

from typing import Any


def test_priority_class_orders_jobs_within_a_queue(seed: Any) -> None:
    seed.priority_class("batch-low", 10)
    seed.priority_class("batch-high", 1000)
    seed.job("running", "low-priority", pods=2, gpus=1)
    seed.settle()
    seed.job("low", "low-priority", pods=2, gpus=1, priority_class="batch-low")
    seed.settle()
    seed.job("high", "low-priority", pods=2, gpus=1, priority_class="batch-high")
    seed.settle()
    seed.finish("running")
    seed.settle()
    assert (seed.placed("high"), seed.phase("low")) == (2, "Pending")


def test_priority_class_does_not_evict(seed: Any) -> None:
    seed.priority_class("batch-high", 1000)
    seed.job("running", "low-priority", pods=2, gpus=1, limits_only=True)
    seed.settle()
    seed.job("high", "low-priority", pods=2, gpus=1, limits_only=True, priority_class="batch-high")
    seed.settle()
    assert (seed.placed("running"), seed.placed("high")) == (2, 0)


def test_rejected_job_does_not_hold_up_the_next_one(seed: Any) -> None:
    seed.job("too-big", "low-priority", pods=3, gpus=1)
    seed.job("small", "low-priority", pods=1, gpus=1)
    seed.settle()
    assert (seed.phase("too-big"), seed.phase("small")) == ("Pending", "Running")


def test_queue_priority_comes_before_share(cluster: Any) -> None:
    cluster.queue("early")
    cluster.queue("late", priority=5)
    cluster.job("a", "early", pods=3, gpus=2)
    cluster.job("b", "late", pods=3, gpus=2)
    cluster.settle()
    assert (cluster.placed("a"), cluster.placed("b")) == (0, 3)


def test_queue_with_the_smaller_share_comes_first(cluster: Any) -> None:
    cluster.queue("busy")
    cluster.queue("idle")
    cluster.job("running", "busy", pods=2, gpus=1)
    cluster.settle()
    cluster.job("a", "busy", pods=2, gpus=2)
    cluster.job("b", "idle", pods=2, gpus=2)
    cluster.session()
    assert (cluster.phase("a"), cluster.phase("b")) == ("Pending", "Inqueue")


def test_incomplete_gang_comes_before_the_surplus_of_a_complete_one(cluster: Any) -> None:
    cluster.queue("q", gpus=4)
    cluster.job("surplus", "q", pods=2, gpus=1, minimum=1, limits_only=True)
    cluster.job("gang", "q", pods=3, gpus=1, limits_only=True)
    cluster.settle()
    lost = cluster.pods["gang-worker-2"]
    lost["spec"].pop("nodeName")
    lost["status"] = {"phase": "Pending"}
    cluster.settle()
    assert (cluster.placed("surplus"), cluster.placed("gang")) == (1, 3)


def test_older_job_comes_first_and_then_the_name_decides(seed: Any) -> None:
    seed.job("b", "low-priority", pods=2, gpus=1)
    seed.job("a", "low-priority", pods=2, gpus=1)
    seed.session()
    assert (seed.phase("b"), seed.phase("a")) == ("Inqueue", "Pending")


def test_jobs_of_the_same_second_are_ordered_by_name(seed: Any) -> None:
    seed.job("b", "low-priority", pods=2, gpus=1)
    seed.job("a", "low-priority", pods=2, gpus=1)
    for group in seed.groups.values():
        group["metadata"]["creationTimestamp"] = "2026-08-20T09:30:00Z"
    seed.session()
    assert (seed.phase("b"), seed.phase("a")) == ("Pending", "Inqueue")


def test_jobs_with_complete_gangs_take_turns(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("a", "q", pods=6, gpus=1, minimum=1, limits_only=True)
    cluster.job("b", "q", pods=6, gpus=1, minimum=1, limits_only=True)
    cluster.settle()
    assert (cluster.placed("a"), cluster.placed("b")) == (3, 3)
