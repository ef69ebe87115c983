"""The work queue in virtual time, and the queue that tasks wait on."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.controller.schedule import LONGEST_BACK_OFF_SECONDS, Schedule
from app.controller.together import run_together
from app.controller.workqueue import WorkQueue
from app.failpoints import Crash


def test_many_asks_for_one_key_are_one_look_at_the_earliest_moment() -> None:
    schedule: Schedule[str] = Schedule()
    for at in (5.0, 2.0, 9.0):
        schedule.add("a", at)
    assert schedule.take(1.9, 10) == []
    assert schedule.take(2.0, 10) == ["a"]
    schedule.done("a")
    assert schedule.take(100.0, 10) == []


def test_a_key_is_never_worked_on_twice_at_a_time_and_no_ask_is_lost() -> None:
    schedule: Schedule[str] = Schedule()
    schedule.add("a", 0.0)
    assert schedule.take(0.0, 10) == ["a"]
    schedule.add("a", 0.0)
    assert schedule.take(1.0, 10) == []
    schedule.done("a")
    assert schedule.take(1.0, 10) == ["a"]


def test_failures_wait_ever_longer_up_to_a_bound_and_success_forgets_them() -> None:
    schedule: Schedule[str] = Schedule()
    schedule.add("a", 0.0)
    now, pauses = 0.0, []
    for _ in range(12):
        assert schedule.take(now, 1) == ["a"]
        schedule.retry("a", now, 1.0)
        due = schedule.next_due()
        assert due is not None
        pauses.append(due - now)
        now = due
    assert pauses[:4] == pytest.approx([0.5, 1.0, 2.0, 4.0])
    assert pauses[-1] == LONGEST_BACK_OFF_SECONDS
    schedule.take(now, 1)
    schedule.done("a")
    schedule.add("a", now)
    schedule.take(now, 1)
    schedule.retry("a", now, 0.0)
    assert schedule.next_due() == now + 0.25


def test_an_ask_during_a_failure_does_not_cut_the_pause_short() -> None:
    schedule: Schedule[str] = Schedule()
    schedule.add("a", 0.0)
    schedule.take(0.0, 1)
    schedule.add("a", 0.0)
    schedule.retry("a", 0.0, 1.0)
    assert schedule.take(0.4, 1) == []
    assert schedule.take(0.5, 1) == ["a"]


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "done", "retry"]), st.sampled_from("abc")), max_size=60))
def test_every_key_that_was_asked_for_is_looked_at_after_the_last_ask(steps: list[tuple[str, str]]) -> None:
    schedule: Schedule[str] = Schedule()
    held: set[str] = set()
    owed: set[str] = set()
    for now, (step, key) in enumerate(steps):
        if step == "add":
            schedule.add(key, now)
            owed.add(key)
        elif step == "take":
            taken = schedule.take(now, 2)
            assert not held & set(taken)
            held |= set(taken)
            owed -= set(taken)
        elif key in held:
            held.discard(key)
            if step == "done":
                schedule.done(key)
            else:
                schedule.retry(key, now, 0.5)
                owed.add(key)
    for key in held:
        schedule.done(key)
    assert owed <= set(schedule.take(len(steps) + 1000.0, 10))


async def test_waiting_tasks_get_a_key_as_soon_as_it_is_due() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.create_task(queue.take(10))
    await asyncio.sleep(0)
    queue.add("later", 30.0)
    queue.add("now")
    assert await asyncio.wait_for(waiting, 10) == ["now"]
    assert len(queue) == 1


async def test_the_first_error_ends_all_and_passes_as_it_is() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")

    async def crashes() -> None:
        await asyncio.sleep(0)
        raise Crash

    with pytest.raises(Crash):
        await run_together(waits(), crashes())
    assert ended == ["waits"]


async def test_a_part_that_does_not_close_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.controller.together.CLOSING_SECONDS", 0.05)
    answer, stuck = asyncio.Event(), asyncio.Event()

    async def waits_for_an_answer() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stuck.set()
            await answer.wait()

    async def crashes() -> None:
        await asyncio.sleep(0)
        raise Crash

    with pytest.raises(Crash):
        await asyncio.wait_for(run_together(waits_for_an_answer(), crashes()), 10)
    assert stuck.is_set()
    answer.set()
