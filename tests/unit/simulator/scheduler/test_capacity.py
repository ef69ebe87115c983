"""The capacity plugin: what a queue deserves is written down, and the rest is borrowed (volcano-facts 5.5)."""

from typing import Any

import pytest

CONFIGURATION = """
actions: "enqueue, allocate, backfill, reclaim"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enableReclaimable: false}
  - {name: conformance}
  - {name: predicates}
  - {name: capacity}
"""


@pytest.fixture
def entitled(cluster: Any) -> Any:
    """high deserves four GPUs, low two, free none; each may hold all six."""
    cluster.configure(CONFIGURATION)
    cluster.queue("high", gpus=6, deserved={"nvidia.com/gpu": 4})
    cluster.queue("low", gpus=6, deserved={"nvidia.com/gpu": 2})
    cluster.queue("free", gpus=6)
    return cluster


def fill(cluster: Any, queue: str) -> None:
    cluster.job(queue, queue, pods=6, gpus=1, minimum=1)
    cluster.settle()
    assert cluster.placed(queue) == 6


def test_queue_borrows_beyond_what_it_deserves_up_to_its_capability(entitled: Any) -> None:
    entitled.queue("capped", gpus=3, deserved={"nvidia.com/gpu": 1})
    entitled.job("a", "capped", pods=6, gpus=1, minimum=1)
    entitled.settle()
    assert entitled.placed("a") == 3


@pytest.mark.parametrize("borrower", ["low", "free"])
def test_owner_takes_back_what_it_deserves_and_no_more(entitled: Any, borrower: str) -> None:
    fill(entitled, borrower)
    for number in range(6):
        entitled.job(f"high-{number}", "high", pods=1, gpus=1, limits_only=True)
    entitled.settle()
    assert sum(entitled.placed(f"high-{number}") for number in range(6)) == 4
    assert entitled.placed(borrower) == 2


def test_queue_that_deserves_nothing_reclaims_nothing(entitled: Any) -> None:
    fill(entitled, "low")
    entitled.job("late", "free", pods=1, gpus=1, limits_only=True)
    entitled.settle()
    assert (entitled.placed("late"), entitled.evicted) == (0, [])


def test_guarantee_is_never_taken(entitled: Any) -> None:
    entitled.queue("sure", gpus=6, guarantee={"resource": {"nvidia.com/gpu": "3"}})
    entitled.queue("owner", gpus=6, deserved={"nvidia.com/gpu": 6})
    fill(entitled, "sure")
    for number in range(6):
        entitled.job(f"owner-{number}", "owner", pods=1, gpus=1, limits_only=True)
    entitled.settle()
    assert entitled.placed("sure") == 3


def test_queue_with_a_deserved_share_is_served_before_one_without(entitled: Any) -> None:
    entitled.job("free", "free", pods=6, gpus=1, minimum=1, limits_only=True)
    entitled.job("low", "low", pods=2, gpus=1, limits_only=True)
    entitled.settle()
    assert (entitled.placed("low"), entitled.placed("free")) == (2, 4)


def test_closed_queue_neither_starts_nor_reclaims(entitled: Any) -> None:
    fill(entitled, "low")
    entitled.job("late", "high", pods=1, gpus=1, limits_only=True)
    entitled.session()
    entitled.queues["high"]["status"]["state"] = "Closed"
    entitled.settle()
    assert (entitled.placed("late"), entitled.evicted) == (0, [])
