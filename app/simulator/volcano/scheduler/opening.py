"""Opens a session: tasks, jobs and nodes out of a snapshot."""

import random
from collections.abc import Mapping

from app.simulator.volcano.scheduler.capacity import open_capacity_books
from app.simulator.volcano.scheduler.facts import PriorityFacts, QueueFacts
from app.simulator.volcano.scheduler.model import Job, Node, Task
from app.simulator.volcano.scheduler.ordering import pod_key
from app.simulator.volcano.scheduler.overcommit import Overcommit
from app.simulator.volcano.scheduler.pod_facts import PodFacts
from app.simulator.volcano.scheduler.policy import DEFAULT_POLICY, Policy
from app.simulator.volcano.scheduler.predicates import Predicates
from app.simulator.volcano.scheduler.proportion import QueueBook, open_books
from app.simulator.volcano.scheduler.resources import Resources, add, dominant_share
from app.simulator.volcano.scheduler.snapshot import Snapshot
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statuses import COMPLETED_STATUSES, EVICTABLE_STATUSES, TaskStatus


def open_session(snapshot: Snapshot, rng: random.Random, policy: Policy = DEFAULT_POLICY) -> Session:
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
        policy=policy,
        weights=policy.weights,
        total=total,
        nodes=nodes,
        jobs=jobs,
        queues=queues,
        books=open_queue_books(policy, total, queues, jobs),
        overcommit=Overcommit(total, used, jobs, policy.overcommit_factor),
        rng=rng,
        predicates=Predicates(enabled=policy.filters_nodes),
    )


def open_queue_books(
    policy: Policy, total: Resources, queues: Mapping[str, QueueFacts], jobs: list[Job]
) -> dict[str, QueueBook]:
    """The books of the plugin that shares the cluster out; without any, those of proportion, which then nobody asks."""
    if policy.share_plugin == "capacity":
        return {**open_capacity_books(total, queues, jobs)}
    return open_books(total, queues, jobs)


def _nodes(snapshot: Snapshot) -> dict[str, Node]:
    """The nodes by name, with every pod booked that is not done, whichever scheduler put it there."""
    nodes = {
        facts.name: Node(facts, dict(facts.allocatable), dict(facts.allocatable))
        for facts in sorted(snapshot.nodes, key=lambda facts: facts.name)
    }
    for pod in snapshot.pods:
        status, name = _placed(pod, snapshot)
        if name in nodes and status not in COMPLETED_STATUSES:
            nodes[name].take(pod.request, status)
    return nodes


def _placed(pod: PodFacts, snapshot: Snapshot) -> tuple[TaskStatus, str]:
    """A pod's status and node; what was written but not seen yet makes it Binding or Releasing."""
    if pod.status == TaskStatus.PENDING and snapshot.bindings and pod.uid in snapshot.bindings:
        return TaskStatus.BINDING, snapshot.bindings[pod.uid]
    if pod.status in EVICTABLE_STATUSES and pod.uid in snapshot.evictions:
        return TaskStatus.RELEASING, pod.node
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
            status, node = _placed(pod, snapshot)
            jobs[pod.group].add(Task(pod, status, node))
    return list(jobs.values())


def _default_priority(priorities: tuple[PriorityFacts, ...]) -> int:
    return next((facts.value for facts in priorities if facts.is_default), 0)
