"""What Pumice makes of what a real Volcano v1.15.1 was recorded doing: event by event, and with broken watches."""

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.replay import checks
from tests.replay.disturbances import play_disturbed
from tests.replay.expected import deletions, sharing, troubles, waiting
from tests.replay.expected.rows import Scenario
from tests.replay.play import Play
from tests.replay.recording import SCENARIOS, Change
from tests.replay.watched import Mischief

EXPECTED = {**waiting.SCENARIOS, **troubles.SCENARIOS, **deletions.SCENARIOS, **sharing.SCENARIOS}
PLAYED = [name for name in SCENARIOS if name[:2] != "19"]  # nothing came of its request: see test_refusals
BEYOND_CAPABILITY = {"05": ("low-priority", 2), "29": ("high-priority", 4)}
"""Queues whose jobs Pumice would refuse: they were accepted before the operator lowered the queue's capability."""

RETENTION_SECONDS = 600.0


async def begin(play: Play) -> None:
    if lowered := BEYOND_CAPABILITY.get(play.recording.name[:2]):
        queue, gpus = lowered
        await play.world.set_capability(queue, 6)
        await play.accept(play.recording.changes[0].object)
        await play.world.set_capability(queue, gpus)
    play.world.start()
    await play.world.settled()


def _stops(play: Play, scenario: Scenario) -> Iterator[tuple[Change, list[int]]]:
    """Each change, with the moments that lie between it and the next."""
    for change, following in pairwise([*play.recording.changes, None]):
        until = float("inf") if following is None else following.ms
        yield change, [ms for ms in scenario.moments if change.ms <= ms < until]


@pytest.mark.parametrize("name", PLAYED)
async def test_each_event_is_understood(make_play: Any, name: str) -> None:
    play, scenario = await make_play(name), EXPECTED[name[:2]]
    await begin(play)
    for change, moments in _stops(play, scenario):
        await play.step(change)
        await play.world.settled()
        for ms in moments:
            await checks.check_queues(play, scenario.moments[ms])
    await checks.look_later(play)
    checks.check_manifests(play)
    await checks.check_rows(play, scenario)
    await checks.check_histories(play, scenario)
    await checks.check_pods(play, scenario)
    await checks.check_queues(play, scenario.queues)
    await checks.check_cleaning(play, scenario, RETENTION_SECONDS)


@pytest.mark.parametrize(("hows", "seed"), [(("end", "cut"), 1), (("gone",), 2)], ids=["resumed", "listed-anew"])
@pytest.mark.parametrize("name", PLAYED)
async def test_broken_watches_change_nothing(make_play: Any, name: str, hows: tuple[str, ...], seed: int) -> None:
    scenario, chance = EXPECTED[name[:2]], random.Random(f"{name[:2]}/{seed}")
    play = await make_play(name, Mischief(chance, twice=0.2, bookmarks=0.3))
    await begin(play)
    await play_disturbed(play, chance, hows)
    await checks.look_later(play)
    await checks.check_rows(play, scenario)
    await checks.check_queues(play, scenario.queues)
    await checks.check_cleaning(play, scenario, RETENTION_SECONDS)


def test_every_recording_has_its_expectation() -> None:
    assert sorted(EXPECTED) == [name[:2] for name in PLAYED]
    assert len(SCENARIOS) == 29
