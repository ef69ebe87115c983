"""A higher PriorityClass takes the place of others of its queue (volcano-facts 5.7)."""

from typing import Any

import pytest

CONFIGURATION = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - {name: priority}
  - {name: gang%s}
  - {name: conformance}
  - {name: drf%s}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
"""
OFF = ", enablePreemptable: false"


@pytest.fixture
def ranked(cluster: Any) -> Any:
    """One queue, two PriorityClasses; gang and drf have no say in preemption."""
    cluster.configure(CONFIGURATION % (OFF, OFF))
    cluster.queue("q")
    cluster.priority_class("urgent", 1000)
    cluster.priority_class("usual", 10)
    return cluster


def test_lower_priority_gives_way(ranked: Any) -> None:
    ranked.job("low", "q", pods=6, gpus=1, minimum=1, priority_class="usual")
    ranked.settle()
    ranked.job("high", "q", pods=2, gpus=1, priority_class="urgent")
    ranked.settle()
    assert (ranked.placed("high"), ranked.placed("low")) == (2, 4)
    assert [reason for _, reason in ranked.evicted] == ["preempt", "preempt"]


def test_text_names_no_node_when_only_the_share_was_used_up(ranked: Any) -> None:
    """As in recording 28."""
    ranked.job("low", "q", pods=6, gpus=1, minimum=1, priority_class="usual")
    ranked.settle()
    ranked.job("high", "q", pods=2, gpus=1, priority_class="urgent")
    for _ in range(2):
        ranked.session()
    assert ranked.condition("high") == (
        "2/2 tasks in gang unschedulable: pod group is not ready, 2 Pipelined, 2 minAvailable"
    )


@pytest.mark.parametrize("priority", ["usual", ""])
def test_equal_or_lower_priority_preempts_nothing(ranked: Any, priority: str) -> None:
    ranked.job("low", "q", pods=6, gpus=1, minimum=1, priority_class="usual")
    ranked.settle()
    ranked.job("late", "q", pods=2, gpus=1, priority_class=priority)
    ranked.settle()
    assert (ranked.placed("late"), ranked.evicted) == (0, [])


def test_other_queues_are_left_alone(ranked: Any) -> None:
    ranked.queue("other")
    ranked.job("low", "other", pods=6, gpus=1, minimum=1, priority_class="usual")
    ranked.settle()
    ranked.job("high", "q", pods=2, gpus=1, priority_class="urgent")
    ranked.settle()
    assert (ranked.placed("high"), ranked.evicted) == (0, [])


def test_gang_vote_protects_what_a_gang_needs(ranked: Any) -> None:
    ranked.configure(CONFIGURATION % ("", OFF))
    ranked.job("low", "q", pods=6, gpus=1, minimum=5, priority_class="usual")
    ranked.settle()
    ranked.job("high", "q", pods=1, gpus=1, priority_class="urgent")
    ranked.settle()
    assert (ranked.placed("high"), ranked.placed("low")) == (1, 5)
    ranked.job("higher", "q", pods=1, gpus=1, priority_class="urgent")
    ranked.settle()
    assert (ranked.placed("higher"), ranked.placed("low")) == (0, 5)


def test_gang_vote_switched_off_lets_a_gang_be_broken(ranked: Any) -> None:
    """Only GPUs under `limits` get past enqueue: the queue holds all that it may."""
    ranked.job("low", "q", pods=6, gpus=1, priority_class="usual")
    ranked.settle()
    ranked.job("high", "q", pods=1, gpus=1, limits_only=True, priority_class="urgent")
    ranked.settle()
    assert (ranked.placed("high"), ranked.placed("low")) == (1, 5)
    assert ranked.phase("low") == "Unknown"


def test_drf_vote_protects_the_smaller_share(ranked: Any) -> None:
    ranked.configure(CONFIGURATION % (OFF, ""))
    ranked.job("low", "q", pods=6, gpus=1, minimum=1, priority_class="usual")
    ranked.settle()
    ranked.job("four", "q", pods=4, gpus=1, priority_class="urgent")
    ranked.settle()
    assert (ranked.placed("four"), ranked.placed("low")) == (0, 6)
    ranked.groups.pop("four")
    ranked.job("three", "q", pods=3, gpus=1, priority_class="urgent")
    ranked.settle()
    assert (ranked.placed("three"), ranked.placed("low")) == (3, 3)


def test_room_on_the_nodes_does_not_save_the_lower_one(ranked: Any) -> None:
    """The queue's share is used up, half of the cluster is idle: preempt acts all the same."""
    ranked.queue("small", gpus=3)
    ranked.job("low", "small", pods=3, gpus=1, priority_class="usual")
    ranked.settle()
    ranked.job("high", "small", pods=1, gpus=1, limits_only=True, priority_class="urgent")
    ranked.settle()
    assert (ranked.placed("high"), ranked.placed("low")) == (1, 2)


def test_inside_a_job_a_task_of_a_higher_priority_takes_the_place_of_another(ranked: Any) -> None:
    """A pod of another scheduler has taken the master's GPU; a worker gives way, which does not complete the gang."""
    ranked.job("gang", "q", pods=6, gpus=1)
    ranked.settle()
    for pod in ranked.pods_of("gang"):
        pod["spec"]["priority"] = 1
    master = ranked.pods["gang-worker-0"]
    ranked.pods["foreign"] = {
        "metadata": {"name": "foreign", "namespace": "team", "uid": "foreign"},
        "spec": {**master["spec"], "schedulerName": "default-scheduler"},
        "status": {"phase": "Running"},
    }
    master["spec"] = {**master["spec"], "priority": 5, "nodeName": ""}
    master["status"] = {"phase": "Pending"}
    ranked.settle()
    assert (ranked.placed("gang"), [reason for _, reason in ranked.evicted]) == (4, ["preempt"])
    assert master["status"]["nominatedNodeName"] in ranked.nodes


def test_pod_that_was_helped_once_is_not_helped_again(ranked: Any) -> None:
    """Volcano takes a nominated pod for one that has its room, even when somebody else has taken that."""
    ranked.job("low", "q", pods=6, gpus=1, minimum=1, priority_class="usual")
    ranked.settle()
    ranked.job("high", "q", pods=1, gpus=1, priority_class="urgent")
    ranked.session()
    ranked.pods["high-worker-0"]["status"]["nominatedNodeName"] = "gpu-1"
    ranked.settle()
    assert (ranked.placed("high"), ranked.evicted) == (0, [])
