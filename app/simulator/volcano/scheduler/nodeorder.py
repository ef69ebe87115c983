"""The best node for a task (Volcano v1.15.1, plugins nodeorder and binpack).

Counted are leastrequested, mostrequested, balancedresource and binpack. All look at cpu and memory only, unless the
arguments of binpack name other resources: by default pods that ask for GPUs mostly tie and land on a random node. Image
locality, preferred affinity and topology spread are not counted.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.simulator.volcano.scheduler.model import Node
from app.simulator.volcano.scheduler.resources import CPU, MEMORY, Resources

_COUNTED = (CPU, MEMORY)
_ASSUMED = {CPU: 100.0, MEMORY: 200.0 * 1024 * 1024}
"""What kube-scheduler's scores assume for a pod that names no request."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the scores, by default those of Volcano; `packed` has the weight of each resource inside binpack."""

    least_requested: float = 1.0
    most_requested: float = 0.0
    balanced: float = 1.0
    binpack: float = 1.0
    packed: Mapping[str, float] = field(default_factory=lambda: {CPU: 1.0, MEMORY: 1.0})


DEFAULT_WEIGHTS = Weights()


def best_node(
    request: Resources, nodes: Sequence[Node], rng: random.Random, weights: Weights = DEFAULT_WEIGHTS
) -> Node:
    """The node with the highest score; equal ones are drawn from `rng`."""
    if len(nodes) == 1:
        return nodes[0]
    scores = [score(request, node, weights) for node in nodes]
    highest = max(scores)
    return rng.choice([node for node, points in zip(nodes, scores, strict=True) if points == highest])


def score(request: Resources, node: Node, weights: Weights = DEFAULT_WEIGHTS) -> float:
    """Points of a node, 100 for each weight at most. kube-scheduler's parts are cut to whole numbers, not binpack's."""
    assumed = [_after(name, request.get(name, 0.0) or _ASSUMED[name], node) for name in _COUNTED]
    least = sum(int(100 * max(0.0, 1 - part)) for part in assumed) // len(assumed)
    most = sum(int(100 * part) for part in assumed if part <= 1.0) // len(assumed)
    balanced = int(100 * (1 - abs(min(assumed[0], 1.0) - min(assumed[1], 1.0)) / 2))
    points = least * weights.least_requested + most * weights.most_requested + balanced * weights.balanced
    return round(points + 100 * weights.binpack * _packed(request, node, weights.packed), 6)


def _packed(request: Resources, node: Node, packed: Mapping[str, float]) -> float:
    """How full the node would be, 0 to 1; 0 when it would be more than full."""
    parts = {name: _after(name, request[name], node) for name in packed if request.get(name, 0.0) > 0.0}
    whole = sum(packed[name] for name in parts)
    if not whole or any(part > 1.0 for part in parts.values()):
        return 0.0
    offered = node.facts.allocatable
    return sum(part * packed[name] for name, part in parts.items() if offered.get(name, 0.0)) / whole


def _after(name: str, request: float, node: Node) -> float:
    """The used part of a node's resource once the pod is there."""
    allocatable = node.facts.allocatable.get(name, 0.0)
    if not allocatable:
        return 1.0
    return (allocatable - node.idle.get(name, 0.0) + request) / allocatable
