"""Steps that are tried together, and given up without a trace but for what is told."""

from typing import Any

import pytest

from app.simulator.volcano.scheduler.model import Job, Placement
from app.simulator.volcano.scheduler.opening import open_session
from app.simulator.volcano.scheduler.snapshot import build_snapshot
from app.simulator.volcano.scheduler.state import Session
from app.simulator.volcano.scheduler.statement import Statement
from app.simulator.volcano.scheduler.statuses import TaskStatus


@pytest.fixture
def session(cluster: Any) -> Session:
    """The job `low` runs on all GPUs; `high` has one pod that waits."""
    cluster.queue("q")
    cluster.job("low", "q", pods=6, gpus=1, minimum=1)
    cluster.settle()
    cluster.job("high", "q", pods=1, gpus=1, limits_only=True)
    cluster.settle()
    snapshot = build_snapshot(
        cluster.nodes.values(), cluster.pods.values(), cluster.groups.values(), cluster.queues.values()
    )
    return open_session(snapshot, cluster.rng)


def jobs(session: Session) -> tuple[Job, Job]:
    by_name = {job.facts.name: job for job in session.jobs}
    return by_name["low"], by_name["high"]


def books(session: Session) -> Any:
    """Every sum that a step may change; what is back at zero counts as absent."""
    nodes = [(node.idle, node.future, node.pods) for node in session.nodes.values()]
    held = [(job.allocated, job.claimed, job.share, job.ready_count()) for job in session.jobs]
    queues = [(book.allocated, book.share) for book in session.books.values()]
    return without_zeros([nodes, held, queues, session.occupancy])


def without_zeros(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: amount for name, amount in value.items() if amount}
    return [without_zeros(item) for item in value] if isinstance(value, (list, tuple)) else value


def make_room(session: Session, statement: Statement) -> None:
    low, high = jobs(session)
    victim, taker = low.tasks[0], high.tasks[0]
    statement.evict(low, victim, "reclaim")
    statement.place(high, taker, session.nodes[victim.node], TaskStatus.PIPELINED, evicts=True)


def test_steps_change_the_books_and_giving_up_restores_them(session: Session) -> None:
    before = books(session)
    statement = Statement(session)
    make_room(session, statement)
    assert books(session) != before
    low, high = jobs(session)
    assert (low.tasks[0].status, high.tasks[0].status) == (TaskStatus.RELEASING, TaskStatus.PIPELINED)
    statement.discard()
    assert books(session) == before
    assert (low.tasks[0].status, high.tasks[0].status) == (TaskStatus.RUNNING, TaskStatus.PENDING)
    assert high.tasks[0].discarded == Placement(TaskStatus.PIPELINED, low.tasks[0].node, evicts=True)
    statement.commit()
    assert session.evictions == []


def test_eviction_is_asked_for_when_it_is_kept(session: Session) -> None:
    statement = Statement(session)
    make_room(session, statement)
    assert session.evictions == []
    statement.commit()
    low, high = jobs(session)
    assert [eviction.pod for eviction in session.evictions] == [low.tasks[0].facts.raw]
    assert (session.evictions[0].reason, session.evictions[0].group) == ("reclaim", low.facts.raw)
    assert (session.binds, high.tasks[0].discarded) == ([], None)


def test_statement_that_takes_over_another_decides_for_both(session: Session) -> None:
    before = books(session)
    whole, part = Statement(session), Statement(session)
    make_room(session, part)
    whole.merge(part)
    part.discard()
    assert books(session) != before
    whole.discard()
    assert books(session) == before
