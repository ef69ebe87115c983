"""GPUs in use over time, added up from when pods started and ended. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from app.commands.demo_evidence import PodSeen

Steps = list[tuple[datetime, int]]
"""From each moment on, so many GPUs are in use."""


def in_use(pods: Iterable[PodSeen]) -> Steps:
    """GPUs in use by these pods. A pod that ends at the second at which another starts has made room for it."""
    changes: dict[datetime, int] = defaultdict(int)
    for pod in pods:
        if pod.started_at is not None:
            changes[pod.started_at] += pod.gpus
            if pod.ended_at is not None:
                changes[pod.ended_at] -= pod.gpus
    total, steps = 0, []
    for moment in sorted(changes):
        total += changes[moment]
        steps.append((moment, total))
    return steps


def most_in_use(pods: Iterable[PodSeen]) -> int:
    """The highest number of GPUs in use at once."""
    return max((gpus for _, gpus in in_use(pods)), default=0)
