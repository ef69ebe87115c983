"""The books of queues as the capacity plugin keeps them, without its hierarchy (Volcano v1.15.1; volcano-facts 5.5).

A queue deserves what its `spec.deserved` says, whatever others want, and may borrow up to its capability.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.simulator.volcano.scheduler.facts import QueueFacts
from app.simulator.volcano.scheduler.model import Job
from app.simulator.volcano.scheduler.proportion import QueueBook, count_books
from app.simulator.volcano.scheduler.resources import (
    CPU,
    MEMORY,
    PODS,
    TOLERANCE,
    Resources,
    add,
    dominant_share,
    fits,
    is_empty,
    short_of,
)


@dataclass(slots=True, eq=False)
class CapacityBook(QueueBook):
    """One queue's sums; the limit is `real_capability`, `deserved` only says who may take from whom."""

    @property
    def yields(self) -> bool:
        """A queue that deserves nothing goes after one with the same share that deserves something."""
        return is_empty(self.deserved)

    def update_share(self) -> None:
        """Largest allocated/deserved; a queue that deserves nothing counts as having all of it."""
        self.share = 1.0 if is_empty(self.deserved) else dominant_share(self.allocated, self.deserved)

    def is_overused(self) -> bool:
        """Never: the plugin has no such vote."""
        return False

    def may_allocate(self, request: Resources) -> bool:
        """Whether the queue is open and the request fits into its capability."""
        return self.is_open and not short_of(self._with(request), self.real_capability, request)

    def may_reclaim(self, request: Resources) -> bool:
        """Whether the request fits into the capability, and in at least one dimension into what the queue deserves."""
        future = self._with(request)
        names = [name for name, asked in request.items() if asked > 0.0 and name != PODS]
        used = [n for n in names if future.get(n, 0.0) >= TOLERANCE or self.deserved.get(n, 0.0) >= TOLERANCE]
        return self.may_allocate(request) and any(
            future.get(name, 0.0) - self.deserved.get(name, 0.0) < TOLERANCE for name in used
        )

    def gives(self, allocated: Resources, held: Resources, wanted: Resources) -> bool:
        """Whether a pod may be taken from the queue.

        It must hold something of what is wanted and leave the guarantee whole; and the queue deserves nothing of what
        it holds, or has more than it deserves in one of these dimensions.
        """
        names = [name for name, amount in held.items() if amount > 0.0 and name != PODS]
        if not any(wanted.get(name, 0.0) > 0.0 for name in names):
            return False
        left = dict(allocated)
        add(left, held, -1.0)
        if not fits(self.facts.guarantee, left):
            return False
        due = {name: amount for name, amount in self.deserved.items() if _is_due(name, amount)}
        relevant = [name for name in names if name in due]
        return not relevant or any(allocated.get(name, 0.0) > due[name] for name in relevant)

    def _with(self, request: Resources) -> Resources:
        future = dict(self.allocated)
        add(future, request)
        return future


def _is_due(name: str, amount: float) -> bool:
    """Cpu and memory of zero are not deserved at all; another resource of zero is, and so always exceeded."""
    return amount >= TOLERANCE or name not in (CPU, MEMORY)


def open_capacity_books(
    total: Resources, queues: Mapping[str, QueueFacts], jobs: Iterable[Job]
) -> dict[str, CapacityBook]:
    """The books, by queue name, of the queues that own a job. The arguments are those of proportion's `open_books`."""
    books = count_books(CapacityBook, total, queues, jobs)
    for book in books.values():
        limits, guarantee = book.real_capability, book.facts.guarantee
        deserved = {name: min(amount, limits.get(name, amount)) for name, amount in book.facts.deserved.items()}
        book.deserved = deserved | {name: max(amount, deserved.get(name, 0.0)) for name, amount in guarantee.items()}
        book.update_share()
    return books
