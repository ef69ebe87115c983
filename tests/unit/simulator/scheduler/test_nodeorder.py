"""Which of several fitting nodes is taken."""

import random

from app.simulator.volcano.scheduler.facts import NodeFacts
from app.simulator.volcano.scheduler.model import Node
from app.simulator.volcano.scheduler.nodeorder import Weights, best_node, score
from app.simulator.volcano.scheduler.resources import Resources
from app.simulator.volcano.scheduler.statuses import TaskStatus

GPU_ONLY: Resources = {"nvidia.com/gpu": 1000.0, "pods": 1.0}


def node(name: str, used: Resources | None = None) -> Node:
    allocatable = {"cpu": 32_000.0, "memory": 256.0 * 2**30, "nvidia.com/gpu": 2000.0, "pods": 110.0}
    built = Node(
        NodeFacts(name, allocatable, unschedulable=False, taints=(), labels={}), dict(allocatable), dict(allocatable)
    )
    if used:
        built.take(used, TaskStatus.RUNNING)
    return built


def test_equal_nodes_are_drawn_by_the_seed() -> None:
    nodes = [node(f"gpu-{number}") for number in range(3)]
    drawn = [[best_node(GPU_ONLY, nodes, random.Random(seed)).facts.name for seed in range(20)] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert set(drawn[0]) == {"gpu-0", "gpu-1", "gpu-2"}


def test_gpus_in_use_do_not_change_the_score() -> None:
    assert score(GPU_ONLY, node("a", {"nvidia.com/gpu": 1000.0})) == score(GPU_ONLY, node("b"))


def test_pod_without_cpu_goes_to_the_emptier_node() -> None:
    nodes = [node("busy", {"cpu": 16_000.0}), node("idle"), node("full", {"cpu": 32_000.0})]
    assert best_node(GPU_ONLY, nodes, random.Random(1)).facts.name == "idle"


def test_binpack_that_names_gpus_fills_the_fuller_node() -> None:
    packing = Weights(packed={"cpu": 1.0, "memory": 1.0, "nvidia.com/gpu": 5.0})
    nodes = [node("empty"), node("half", {"nvidia.com/gpu": 1000.0})]
    assert best_node(GPU_ONLY, nodes, random.Random(1), packing).facts.name == "half"


def test_node_that_would_be_more_than_full_has_no_points_of_binpack() -> None:
    packing = Weights(least_requested=0.0, balanced=0.0, packed={"nvidia.com/gpu": 5.0})
    assert score(GPU_ONLY, node("full", {"nvidia.com/gpu": 2000.0}), packing) == 0.0


def test_most_requested_is_the_opposite_of_least_requested() -> None:
    most = Weights(least_requested=0.0, most_requested=1.0, balanced=0.0, binpack=0.0)
    nodes = [node("idle"), node("busy", {"cpu": 16_000.0})]
    assert best_node(GPU_ONLY, nodes, random.Random(1), most).facts.name == "busy"
