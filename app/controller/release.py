"""The release window: which held jobs go to Volcano now. Pure.

A cluster takes thousands of Jobs, not millions, and what it has it orders by itself. So each queue gets enough pending
work for Volcano to choose from, and no more; the rest waits here, where re-ordering and cancelling cost nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from app.jobs.waiting import WAITING_FOR_RELEASE

QUEUE_NOT_OPEN = "QueueNotOpen"
QUEUE_MISSING = "QueueMissing"


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that waits for its release; ids sort by age."""

    id: UUID
    queue: str
    user: str
    priority_rank: int
    charges: Mapping[str, int] = field(hash=False)
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class QueueWindow:
    """A queue and what of it is released and not yet running.

    Attributes:
        state: of the Volcano Queue: "" when it is new, "missing" when it is not there, None when nothing is known.
        limits: amount per resource name up to which work may be pending; a resource without a limit is not named.
        used: amount per resource name that is pending.
        jobs: number of Jobs that are pending.
        users: the same by the user who submitted them.
    """

    name: str
    state: str | None
    limits: Mapping[str, int] = field(hash=False)
    used: Mapping[str, int] = field(hash=False)
    jobs: int = 0
    users: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which jobs to release, in order, and what the others wait for, by reason."""

    released: tuple[UUID, ...]
    waiting: Mapping[str, tuple[UUID, ...]]


def plan(windows: Iterable[QueueWindow], held: Iterable[HeldJob], *, most_jobs: int | None) -> Plan:
    """Decide about held jobs, queue by queue.

    Args:
        windows: every queue that has held jobs.
        held: the most urgent held jobs of these queues, in any order.
        most_jobs: Jobs that may be pending in one queue; None turns the window off.
    """
    by_queue: dict[str, list[HeldJob]] = defaultdict(list)
    for job in held:
        by_queue[job.queue].append(job)
    released: list[UUID] = []
    waiting: dict[str, list[UUID]] = defaultdict(list)
    for window in windows:
        jobs = by_queue.get(window.name, [])
        closed = _why_closed(window.state)
        if closed is not None:
            waiting[closed] += [job.id for job in jobs]
            continue
        chosen = set(_choose(window, jobs, most_jobs))
        released += [job.id for job in jobs if job.id in chosen]
        waiting[WAITING_FOR_RELEASE] += [job.id for job in jobs if job.id not in chosen]
    return Plan(tuple(released), {reason: tuple(ids) for reason, ids in waiting.items()})


def _why_closed(state: str | None) -> str | None:
    if state == "Open":
        return None
    return QUEUE_MISSING if state == "missing" else QUEUE_NOT_OPEN


def _choose(window: QueueWindow, jobs: Sequence[HeldJob], most_jobs: int | None) -> Iterable[UUID]:
    """Yield the jobs of one queue that the window has room for.

    A job that finds no room keeps the resource for itself: smaller ones behind it must not starve it.
    """
    used, users = Counter(window.used), Counter(window.users)
    pending = window.jobs
    blocked: set[str] = set()
    for job in _in_order(jobs, users):
        if most_jobs is not None and pending >= most_jobs:
            return
        if most_jobs is not None and (short := _short_of(window, used, job) | (blocked & job.charges.keys())):
            blocked |= short
            continue
        pending += 1
        used.update(job.charges)
        users[job.user] += 1
        yield job.id


def _short_of(window: QueueWindow, used: Mapping[str, int], job: HeldJob) -> set[str]:
    """The resources of which the window has too little; an empty window takes any one job."""
    return {
        resource
        for resource, amount in job.charges.items()
        if resource in window.limits
        and used.get(resource, 0) > 0
        and used.get(resource, 0) + amount > window.limits[resource]
    }


def _in_order(jobs: Sequence[HeldJob], users: Counter[str]) -> Iterable[HeldJob]:
    """Yield by priority; within one, always the oldest job of the user who has least in the window at that moment."""
    ordered = sorted(jobs, key=lambda job: (-job.priority_rank, job.id))
    for _, equals in groupby(ordered, key=lambda job: job.priority_rank):
        lines: dict[str, list[HeldJob]] = {}
        for job in equals:
            lines.setdefault(job.user, []).append(job)
        taken = dict.fromkeys(lines, 0)
        skipped = Counter[str]()
        while open_lines := [user for user, line in lines.items() if taken[user] < len(line)]:
            user = min(open_lines, key=lambda name: (users[name] + skipped[name], lines[name][taken[name]].id))
            job = lines[user][taken[user]]
            taken[user] += 1
            before = users[user]
            yield job
            if users[user] == before:
                skipped[user] += 1  # it found no room; it is the others' turn all the same
