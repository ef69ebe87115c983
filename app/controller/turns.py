"""Which pods are let go from our scheduling gate: in arrays no more at a time than the owner said. Pure."""

from collections.abc import Iterable, Iterator

from app.controller.facts import JobFacts, PodFacts
from app.controller.plan import TaskPlan

MOST_AT_ONCE = 50
"""Pods that one look lets go; each is a call to the API server."""


def turns(job: JobFacts, pods: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    """The pods whose turn it is, those of the lowest indices first; a pod that ended makes room for one."""
    by_task: dict[str, list[PodFacts]] = {}
    for pod in pods:
        if pod.alive:
            by_task.setdefault(pod.task, []).append(pod)
    chosen = [pod for task in job.plan.tasks for pod in _of_task(task, by_task.get(task.name, []))]
    return tuple(chosen[:MOST_AT_ONCE])


def _of_task(task: TaskPlan, alive: list[PodFacts]) -> Iterator[PodFacts]:
    waiting = sorted((pod for pod in alive if pod.gated and not pod.deleting), key=lambda pod: pod.index)
    room = task.at_a_time - sum(not pod.gated for pod in alive)
    yield from waiting[: max(0, room)]
