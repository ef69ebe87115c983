"""Which tasks the plugins allow to be evicted for another one (Volcano v1.15.1; volcano-facts 5.7).

Inside a tier the plugins' lists are intersected, and a plugin that names nobody empties it. The first tier whose list
is not empty decides, and lower tiers are not asked.
"""

from collections.abc import Callable

from app.simulator.volcano.scheduler.candidates import Candidate, in_order
from app.simulator.volcano.scheduler.resources import Resources, add, dominant_share
from app.simulator.volcano.scheduler.state import Session

Vote = Callable[[Session, Candidate, list[Candidate]], list[Candidate]]
"""Of some candidates those that may be evicted for a task; the order of the candidates may matter."""

_CRITICAL = ("system-cluster-critical", "system-node-critical")
_SYSTEM_NAMESPACE = "kube-system"
_SHARE_DELTA = 0.000001


def reclaimable(session: Session, taker: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """Victims among tasks of other queues."""
    return decide(session, session.policy.reclaimable, RECLAIM_VOTES, taker, candidates)


def preemptable(session: Session, taker: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """Victims among tasks of the same queue."""
    return decide(session, session.policy.preemptable, PREEMPT_VOTES, taker, candidates)


def decide(
    session: Session,
    tiers: tuple[tuple[str, ...], ...],
    votes: dict[str, Vote],
    taker: Candidate,
    candidates: list[Candidate],
) -> list[Candidate]:
    """Ask each tier's plugins until one tier names somebody.

    Args:
        session: what the plugins look at.
        tiers: names of plugins, by tier.
        votes: the vote of each plugin.
        taker: the task that others shall make room for.
        candidates: the tasks in question.
    """
    for tier in tiers:
        victims: list[Candidate] = []
        for name in tier:
            named = votes[name](session, taker, candidates)
            if not named:
                victims = []
                break
            # Volcano cannot tell an empty intersection from none yet: the next plugin's list then counts alone.
            victims = [victim for victim in victims if victim in named] if victims else named
        if victims:
            return victims
    return []


def _gang(session: Session, taker: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """Tasks beyond their job's minAvailable."""
    spare = {id(item.job): item.job.ready_count() - item.job.minimum for item in candidates}
    victims = []
    for item in candidates:
        if spare[id(item.job)] > 0:
            spare[id(item.job)] -= 1
            victims.append(item)
    return victims


def _conformance(session: Session, taker: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """All but what Kubernetes itself needs."""
    return [
        item
        for item in candidates
        if item.task.facts.priority_class not in _CRITICAL and item.task.facts.namespace != _SYSTEM_NAMESPACE
    ]


def _priority(session: Session, taker: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """Jobs of a lower PriorityClass; inside one job, tasks of a lower priority."""
    return [
        item
        for item in candidates
        if (
            item.task.facts.priority < taker.task.facts.priority
            if item.job is taker.job
            else item.job.priority < taker.job.priority
        )
    ]


def _drf(session: Session, taker: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """Tasks whose job keeps at least the dominant share that the taker's would then have."""
    wanted = dict(taker.job.claimed)
    add(wanted, taker.task.request)
    share = dominant_share(wanted, session.total)
    left: dict[int, Resources] = {}
    victims = []
    for item in candidates:
        rest = left.setdefault(id(item.job), dict(item.job.claimed))
        add(rest, item.task.request, -1.0)
        if share - dominant_share(rest, session.total) <= _SHARE_DELTA:
            victims.append(item)
    return victims


def _share(session: Session, taker: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """Tasks of queues that hold more than they deserve; what is already chosen is taken off."""
    held: dict[str, Resources] = {}
    victims = []
    ordered = in_order(session, candidates) if session.policy.share_plugin == "capacity" else candidates
    for item in ordered:
        book = session.books[item.job.facts.queue]
        allocated = held.setdefault(book.facts.name, dict(book.allocated))
        if book.gives(allocated, item.task.request, taker.task.request):
            add(allocated, item.task.request, -1.0)
            victims.append(item)
    return victims


RECLAIM_VOTES: dict[str, Vote] = {"gang": _gang, "conformance": _conformance, "proportion": _share, "capacity": _share}
PREEMPT_VOTES: dict[str, Vote] = {"priority": _priority, "gang": _gang, "conformance": _conformance, "drf": _drf}
