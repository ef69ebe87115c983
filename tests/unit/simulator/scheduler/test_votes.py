"""How plugins and tiers decide together who may be evicted (volcano-facts 5.7)."""

from typing import Any

import pytest

from app.simulator.volcano.scheduler import votes
from app.simulator.volcano.scheduler.candidates import Candidate, residents
from app.simulator.volcano.scheduler.opening import open_session
from app.simulator.volcano.scheduler.snapshot import build_snapshot
from app.simulator.volcano.scheduler.state import Session


@pytest.fixture
def session(cluster: Any) -> Session:
    """A session in which one job of the queue `low` runs six pods."""
    cluster.queue("low")
    cluster.job("low", "low", pods=6, gpus=1, minimum=1)
    cluster.settle()
    snapshot = build_snapshot(
        cluster.nodes.values(), cluster.pods.values(), cluster.groups.values(), cluster.queues.values()
    )
    return open_session(snapshot, cluster.rng)


def decide(session: Session, *tiers: dict[str, set[int]]) -> set[int]:
    """Who is chosen of six when each plugin names these."""
    candidates = [item for there in residents(session).values() for item in there]
    asked = {name: fixed(numbers) for tier in tiers for name, numbers in tier.items()}
    names = tuple(tuple(tier) for tier in tiers)
    return {candidates.index(victim) for victim in votes.decide(session, names, asked, candidates[0], candidates)}


def fixed(numbers: set[int]) -> votes.Vote:
    """A plugin that always names the same."""

    def vote(session: Session, taker: Candidate, candidates: list[Candidate]) -> list[Candidate]:
        return [candidates[number] for number in sorted(numbers)]

    return vote


def test_lists_of_a_tier_are_intersected(session: Session) -> None:
    assert decide(session, {"gang": {0, 1, 2}, "proportion": {1, 2, 3}}) == {1, 2}


def test_first_tier_that_names_anybody_decides(session: Session) -> None:
    assert decide(session, {"gang": {0}}, {"proportion": {1, 2}}) == {0}


def test_plugin_that_names_nobody_empties_its_tier(session: Session) -> None:
    assert decide(session, {"conformance": {0}, "gang": set()}, {"proportion": {1, 2}}) == {1, 2}


def test_after_an_empty_intersection_the_next_plugin_counts_alone(session: Session) -> None:
    """As in Volcano, where an empty list and none are the same."""
    assert decide(session, {"gang": {0}, "conformance": {1}, "proportion": {2}}) == {2}


def test_no_tier_means_no_victim(session: Session) -> None:
    assert decide(session, {"gang": set()}) == set()
