"""The size of the simulated cluster, as `--nodes 3x2` says it."""

import re
from dataclasses import dataclass

from app.commands.failure import CommandFailed

_MOST_NODES = 1000
_MOST_GPUS = 64


@dataclass(frozen=True, slots=True)
class NodeShape:
    """So many nodes with so many GPUs each."""

    nodes: int
    gpus_per_node: int


def parse_nodes(text: str) -> NodeShape:
    """Read `3x2`: three nodes with two GPUs each.

    Raises:
        CommandFailed: it is something else, or out of bounds.
    """
    found = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,2})", text)
    shape = NodeShape(int(found[1]), int(found[2])) if found else None
    if shape is None or not (1 <= shape.nodes <= _MOST_NODES and shape.gpus_per_node <= _MOST_GPUS):
        raise CommandFailed(
            f"--nodes takes NODESxGPUS such as 3x2, with 1 to {_MOST_NODES} nodes and 0 to {_MOST_GPUS} GPUs each."
        )
    return shape
