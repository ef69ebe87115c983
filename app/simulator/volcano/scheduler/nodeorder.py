"""The best node for a task (Volcano v1.15.1, plugins nodeorder and binpack with their default weights).

Counted are leastrequested, balancedresource and binpack, all on cpu and memory: GPUs are in none of them unless the
binpack arguments name them, so pods that ask for GPUs mostly tie and land on a random node. Image locality, preferred
affinity and topology spread are not counted.
"""

import random
from collections.abc import Sequence

from app.simulator.volcano.scheduler.model import Node
from app.simulator.volcano.scheduler.resources import CPU, MEMORY, Resources

_COUNTED = (CPU, MEMORY)
_ASSUMED = {CPU: 100.0, MEMORY: 200.0 * 1024 * 1024}
"""What kube-scheduler's scores assume for a pod that names no request."""


def best_node(request: Resources, nodes: Sequence[Node], rng: random.Random) -> Node:
    """The node with the highest score; equal ones are drawn from `rng`."""
    if len(nodes) == 1:
        return nodes[0]
    scores = [score(request, node) for node in nodes]
    highest = max(scores)
    return rng.choice([node for node, points in zip(nodes, scores, strict=True) if points == highest])


def score(request: Resources, node: Node) -> float:
    """0 to 300 points. kube-scheduler's parts are cut to whole numbers, binpack's is not."""
    assumed = [_after(name, request.get(name, 0.0) or _ASSUMED[name], node) for name in _COUNTED]
    least = sum(int(100 * max(0.0, 1 - part)) for part in assumed) // len(assumed)
    balanced = int(100 * (1 - abs(min(assumed[0], 1.0) - min(assumed[1], 1.0)) / 2))
    asked = [_after(name, request[name], node) for name in _COUNTED if request.get(name, 0.0) > 0.0]
    packed = 100 * sum(asked) / len(asked) if asked else 0.0
    return round(least + balanced + packed, 6)


def _after(name: str, request: float, node: Node) -> float:
    """The used part of a node's resource once the pod is there."""
    allocatable = node.facts.allocatable.get(name, 0.0)
    if not allocatable:
        return 1.0
    return (allocatable - node.idle.get(name, 0.0) + request) / allocatable
