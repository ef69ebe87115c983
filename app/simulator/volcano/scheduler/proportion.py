"""The books of queues as the proportion plugin keeps them (Volcano v1.15.1, `plugins/proportion`; volcano-facts 5.5).

`spec.deserved` of a queue is not read: proportion computes its own from the weights.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from app.simulator.volcano.scheduler.facts import QueueFacts
from app.simulator.volcano.scheduler.model import Job
from app.simulator.volcano.scheduler.resources import (
    Resources,
    add,
    dominant_share,
    excess,
    fits,
    is_empty,
    same,
    scaled,
    short_of,
)
from app.simulator.volcano.scheduler.statuses import ALLOCATED_STATUSES

_OPEN = "Open"

Book = TypeVar("Book", bound="QueueBook")


@dataclass(slots=True, eq=False)
class QueueBook:
    """One queue's sums. `real_capability` is what it may hold at most; a scalar that it lacks is offered by no node."""

    facts: QueueFacts
    real_capability: Resources
    deserved: Resources = field(default_factory=dict)
    allocated: Resources = field(default_factory=dict)
    request: Resources = field(default_factory=dict)
    inqueue: Resources = field(default_factory=dict)
    elastic: Resources = field(default_factory=dict)
    share: float = 0.0

    @property
    def yields(self) -> bool:
        """Whether the queue lets another one of the same share go first."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether the queue's state is Open."""
        return self.facts.state == _OPEN

    def count(self, job: Job) -> None:
        """Add what a job holds and wants. A job that is not enqueued has no pods and adds nothing."""
        add(self.allocated, job.allocated)
        add(self.request, job.allocated)
        for task in job.pending():
            add(self.request, task.request)
        if job.facts.min_resources is not None and (job.phase == "Inqueue" or _runs_whole(job)):
            add(self.inqueue, reserved(job))
        add(self.elastic, excess(job.allocated, job.facts.min_resources or {}))

    def update_share(self) -> None:
        """Largest allocated/deserved; it orders the queues."""
        self.share = dominant_share(self.allocated, self.deserved)

    def is_overused(self) -> bool:
        """Whether deserved is reached in every dimension, pods too: rarely true for a queue at its GPU ceiling."""
        return fits(self.deserved, self.allocated)

    def may_allocate(self, request: Resources) -> bool:
        """Whether the queue is open and the request fits into what it deserves, on the requested dimensions."""
        return self.is_open and not short_of(_sum(self.allocated, request), self.deserved, request)

    def may_reclaim(self, request: Resources) -> bool:
        """Whether the queue may take from others for a request: only inside of what it deserves."""
        return self.may_allocate(request)

    def gives(self, allocated: Resources, held: Resources, wanted: Resources) -> bool:
        """Whether a pod may be taken from the queue: it has more than it deserves in any dimension.

        Args:
            allocated: what the queue would hold after the victims that are already chosen.
            held: what the pod asks for; proportion looks at neither this nor the next.
            wanted: what the pod asks for that others shall make room for.
        """
        return not fits(allocated, self.deserved)

    def short_for_enqueue(self, minimum: Resources) -> list[str]:
        """The resources of `minimum` that would go beyond the queue's capability; empty when it may be enqueued."""
        wanted = _sum(minimum, self.allocated, self.inqueue)
        add(wanted, self.elastic, -1.0)
        return short_of(wanted, self.real_capability, minimum)

    def reserve(self, job: Job) -> None:
        """Book what a job that was enqueued asks for."""
        add(self.inqueue, without_gated(job, job.facts.min_resources or {}))

    def claim(self, request: Resources, times: float = 1.0) -> None:
        """Book a placement that is being tried; -1.0 takes it back."""
        add(self.allocated, request, times)
        self.update_share()


def _sum(*parts: Resources) -> Resources:
    total: Resources = {}
    for part in parts:
        add(total, part)
    return total


def reserved(job: Job) -> Resources:
    """The part of a job's minResources that its pods do not hold yet, and that no gate keeps (`GetInqueueResource`)."""
    return without_gated(job, excess(job.facts.min_resources or {}, job.allocated))


def without_gated(job: Job, amounts: Resources) -> Resources:
    """Amounts less what all gated pods of a job ask for, those beyond minAvailable too; nothing falls below zero.

    So a job whose pods are gated reserves nothing that others could use (`DeductSchGatedResources`).
    """
    gated: Resources = {}
    for task in job.tasks:
        if task.facts.gated:
            add(gated, task.request)
    return {name: max(amount - gated.get(name, 0.0), 0.0) for name, amount in amounts.items()} if gated else amounts


def _runs_whole(job: Job) -> bool:
    return job.phase == "Running" and job.count_in(ALLOCATED_STATUSES) >= job.minimum


def running_reservation(job: Job) -> Resources:
    """What a running job still reserves: nothing once fewer pods than the gang's size hold resources."""
    return reserved(job) if job.facts.min_resources is not None and _runs_whole(job) else {}


def open_books(total: Resources, queues: Mapping[str, QueueFacts], jobs: Iterable[Job]) -> dict[str, QueueBook]:
    """The books, by queue name, of the queues that own a job; only they share the cluster.

    Args:
        total: allocatable of all nodes, cordoned and tainted ones included.
        queues: all queues by name; their guarantees are withheld from the others.
        jobs: the session's jobs, each in one of `queues`.
    """
    books = count_books(QueueBook, total, queues, jobs)
    _share_out(total, list(books.values()))
    return books


def count_books(
    kind: type[Book], total: Resources, queues: Mapping[str, QueueFacts], jobs: Iterable[Job]
) -> dict[str, Book]:
    """The books with everything but what the queues deserve."""
    guaranteed = _sum(*(queue.guarantee for queue in queues.values()))
    books: dict[str, Book] = {}
    for job in jobs:
        facts = queues[job.facts.queue]
        if facts.name not in books:
            books[facts.name] = kind(facts, _real_capability(total, guaranteed, facts))
        books[facts.name].count(job)
    return books


def _real_capability(total: Resources, guaranteed: Resources, queue: QueueFacts) -> Resources:
    limits = _sum(excess(total, guaranteed), queue.guarantee)
    if queue.capability is None:
        return limits
    named = {name: amount for name, amount in queue.capability.items() if amount > 0.0 or name not in ("cpu", "memory")}
    return {name: min(amount, named.get(name, amount)) for name, amount in limits.items()}


def _share_out(total: Resources, books: list[QueueBook]) -> None:
    """Split `total` by weight, round by round, until every queue has what it wants or nothing moves."""
    remaining = dict(total)
    unmet = books
    while unmet:
        weight = sum(book.facts.weight for book in unmet)
        change: Resources = {}
        still_unmet = []
        for book in unmet:
            before = book.deserved
            book.deserved = _next_deserved(book, scaled(remaining, book.facts.weight / weight))
            add(change, book.deserved)
            add(change, before, -1.0)
            if not fits(book.request, book.deserved) and not same(before, book.deserved):
                still_unmet.append(book)
        unmet = still_unmet
        left = excess(remaining, change)
        if is_empty(left) or same(left, remaining):
            break
        remaining = left
    for book in books:
        book.update_share()


def _next_deserved(book: QueueBook, part: Resources) -> Resources:
    """What the queue had plus its part, clamped to capability and request, raised to the guarantee."""
    deserved = _sum(book.deserved, part)
    for name, amount in deserved.items():
        deserved[name] = min(amount, book.real_capability.get(name, amount), book.request.get(name, 0.0))
    for name, amount in book.facts.guarantee.items():
        deserved[name] = max(deserved.get(name, 0.0), amount)
    return deserved
