"""Which held jobs are released: priority, then age, then fairness between users, within the window."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.controller.release import HeldJob, QueueWindow, plan
from app.controller.releasing import fitting
from app.teams.quota import Limit, Quota

GPU = "nvidia.com/gpu"


def job(number: int, gpus: int = 1, user: str = "u", rank: int = 1, queue: str = "q") -> HeldJob:
    return HeldJob(UUID(int=number), queue, user, rank, {GPU: gpus} if gpus else {})


def window(limit: int | None = 10, **facts: Any) -> QueueWindow:
    given: dict[str, Any] = {"name": "q", "state": "Open", "limits": {} if limit is None else {GPU: limit}, "used": {}}
    return QueueWindow(**{**given, **facts})


def released(windows: list[QueueWindow], jobs: list[HeldJob], most_jobs: int | None = 500) -> list[int]:
    return [job_id.int for job_id in plan(windows, jobs, most_jobs=most_jobs).released]


def test_priority_comes_first_and_then_age() -> None:
    jobs = [job(1, rank=0), job(2, rank=2), job(3, rank=2)]
    assert sorted(released([window(2)], jobs)) == [2, 3]
    assert released([window(1)], jobs) == [2]


def test_the_user_with_least_in_the_window_is_next() -> None:
    jobs = [job(1, user="a"), job(2, user="a"), job(3, user="a"), job(4, user="b")]
    assert sorted(released([window(2)], jobs)) == [1, 4]
    assert released([window(3, used={GPU: 2}, jobs=2, users={"a": 2})], jobs) == [4]


def test_the_window_counts_what_is_pending_and_the_number_of_jobs() -> None:
    assert released([window(4, used={GPU: 3}, jobs=3)], [job(1), job(2)]) == [1]
    assert released([window(None, jobs=2)], [job(1, 0), job(2, 0)], most_jobs=3) == [1]


def test_an_empty_window_takes_one_job_that_is_larger_than_it() -> None:
    assert released([window(2)], [job(1, gpus=8), job(2, gpus=8)]) == [1]


def test_a_large_job_is_not_starved_by_small_ones_and_keeps_only_its_own_resource() -> None:
    assert released([window(4, used={GPU: 2}, jobs=1)], [job(1, gpus=4), job(2, gpus=1), job(3, gpus=0)]) == [3]


def test_jobs_of_a_queue_that_is_not_open_wait_and_say_so() -> None:
    decided = plan(
        [window(state="Closing"), window(name="gone", state="missing")], [job(1), job(2, queue="gone")], most_jobs=5
    )
    assert decided.released == ()
    assert decided.waiting["QueueNotOpen"] == (UUID(int=1),)
    assert decided.waiting["QueueMissing"] == (UUID(int=2),)


def test_without_a_window_everything_goes() -> None:
    assert len(released([window(1)], [job(number, gpus=9) for number in range(1, 50)], most_jobs=None)) == 49


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.integers(0, 2)), max_size=30),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(1, 10),
)
def test_the_window_is_never_overfilled_and_an_empty_one_never_idle(
    shapes: list[tuple[int, str, int]], limit: int, used: int, most_jobs: int
) -> None:
    jobs = [job(number, *shape) for number, shape in enumerate(shapes, start=1)]
    pending = 1 if used else 0
    chosen = set(released([window(limit, used={GPU: used}, jobs=pending)], jobs, most_jobs))
    amounts = [each.charges.get(GPU, 0) for each in jobs if each.id.int in chosen]
    assert pending + len(chosen) <= max(most_jobs, pending)
    assert used + sum(amounts) <= max(limit, used, max(amounts, default=0) if used == 0 else 0)
    if jobs and not pending:
        assert chosen
    waiting = plan([window(limit)], jobs, most_jobs=most_jobs)
    assert len(waiting.released) + sum(map(len, waiting.waiting.values())) == len(jobs)


def test_quota_room_goes_to_the_most_urgent_and_large_jobs_are_not_starved() -> None:
    quota = Quota({GPU: Limit(outstanding=4)}, max_jobs=3)
    rows = [SimpleNamespace(id=number, charges={GPU: gpus}) for number, gpus in enumerate((9, 1, 4, 1, 1))]
    assert [row.id for row in fitting(quota, {}, rows)] == [1]
    rows[2].charges = {GPU: 2}
    assert [row.id for row in fitting(quota, {}, rows)] == [1, 2, 3]
    assert fitting(quota, {"count/jobs": 3}, rows) == []
