"""Opens a session: tasks, jobs and nodes out of a snapshot."""

import random
from collections.abc import Mapping

from app.simulator.volcano.scheduler.facts import PriorityFacts
from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.ordering import pod_key
from app.simulator.volcano.scheduler.overcommit import Overcommit
from app.simulator.volcano.scheduler.pod_facts import PodFacts
from app.simulator.volcano.scheduler.proportion import open_books
from app.simulator.volcano.scheduler.resources import Resources, add, dominant_share
from app.simulator.volcano.scheduler.snapshot import Snapshot
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statuses import COMPLETED_STATUSES, TaskStatus


def open_session(snapshot: Snapshot, rng: random.Random) -> Session:
    """Build the session's state. Jobs whose queue does not exist are dropped without a word, as Volcano drops them."""
    nodes = _nodes(snapshot)
    queues = {queue.name: queue for queue in snapshot.queues}
    jobs = _jobs(snapshot, queues)
    total: Resources = {}
    used: Resources = {}
    for node in nodes.values():
        add(total, node.facts.allocatable)
        add(used, node.facts.allocatable)
        add(used, node.idle, -1.0)
    for job in jobs:
        job.share = dominant_share(job.claimed, total)
    return Session(
        total=total,
        nodes=nodes,
        jobs=jobs,
        queues=queues,
        books=open_books(total, queues, jobs),
        overcommit=Overcommit(total, used, jobs),
        rng=rng,
    )


def _nodes(snapshot: Snapshot) -> dict[str, Node]:
    """The nodes by name, with every pod booked that is not done, whichever scheduler put it there."""
    nodes = {
        facts.name: Node(facts, dict(facts.allocatable), dict(facts.allocatable))
        for facts in sorted(snapshot.nodes, key=lambda facts: facts.name)
    }
    for pod in snapshot.pods:
        status, name = _placed(pod, snapshot.bindings)
        if name in nodes and status not in COMPLETED_STATUSES:
            nodes[name].take(pod.request, status)
    return nodes


def _placed(pod: PodFacts, bindings: Mapping[str, str] | None) -> tuple[TaskStatus, str]:
    """A pod's status and node; a binding that was written but not seen yet makes it Binding."""
    if pod.status == TaskStatus.PENDING and bindings and pod.uid in bindings:
        return TaskStatus.BINDING, bindings[pod.uid]
    return pod.status, pod.node


def _jobs(snapshot: Snapshot, queues: Mapping[str, object]) -> list[Job]:
    priorities = {facts.name: facts.value for facts in snapshot.priorities}
    default = _default_priority(snapshot.priorities)
    jobs = {
        group.key: Job(
            group,
            priorities.get(group.priority_class, default),
            str(group.status.get("phase") or ""),
        )
        for group in snapshot.groups
        if group.queue in queues
    }
    for pod in sorted((pod for pod in snapshot.pods if pod.group in jobs), key=pod_key):
        if pod.group is not None:
            status, node = _placed(pod, snapshot.bindings)
            jobs[pod.group].add(Task(pod, status, node))
    return list(jobs.values())


def _default_priority(priorities: tuple[PriorityFacts, ...]) -> int:
    return next((facts.value for facts in priorities if facts.is_default), 0)
