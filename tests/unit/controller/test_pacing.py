import asyncio

import pytest

from app.controller.pacing import SLOW_SECONDS, Pacer

FOR_EVER = float("inf")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _pacer(clock: Clock) -> Pacer:
    return Pacer(16, clock=clock, jitter=lambda: 1.0)


def test_trouble_halves_the_calls_in_flight_once_a_second_and_success_adds_one_by_one() -> None:
    clock = Clock()
    pacer = _pacer(clock)
    for _ in range(5):
        pacer.went_badly()
    assert pacer.limit == 8
    clock.now += 1
    pacer.went_badly()
    assert pacer.limit == 4
    for _ in range(4):
        pacer.went_well(0.01)
    assert pacer.limit == 5
    for _ in range(400):
        pacer.went_well(0.01)
    assert pacer.limit == 16
    clock.now += 1
    pacer.went_well(SLOW_SECONDS + 1)
    assert pacer.limit == 8


def test_the_servers_own_wait_is_kept() -> None:
    clock = Clock()
    pacer = _pacer(clock)
    assert pacer.went_badly(3.0) == 3.0
    clock.now += 2.5
    assert pacer.pause_seconds == 0.5


def test_without_a_word_pauses_double_and_calls_that_fail_together_count_once() -> None:
    clock = Clock()
    pacer = _pacer(clock)
    pauses = []
    for _ in range(8):
        pauses.append(pacer.went_badly())
        assert pacer.went_badly() == pauses[-1]
        clock.now += pauses[-1]
    assert pauses[:4] == [0.5, 1.0, 2.0, 4.0]
    assert pauses[-1] == 30.0
    pacer.went_well(0.1)
    assert pacer.went_badly() == 0.5


async def test_no_more_calls_than_the_limit_are_in_flight() -> None:
    pacer = Pacer(2)
    await pacer.enter(FOR_EVER)
    await pacer.enter(FOR_EVER)
    third = asyncio.create_task(pacer.enter(FOR_EVER))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(third), 0.02)
    await pacer.leave()
    await asyncio.wait_for(third, 10)


async def test_who_has_no_patience_does_not_wait_for_a_server_that_is_away() -> None:
    clock = Clock()
    pacer = Pacer(1, clock=clock, jitter=lambda: 1.0)
    assert await pacer.enter(1.0)
    second = asyncio.create_task(pacer.enter(1.0))
    for _ in range(3):
        clock.now += 10
        pacer.went_badly()
    await pacer.leave()
    assert not await asyncio.wait_for(second, 10)
    clock.now += 10
    assert await pacer.enter(1.0)
