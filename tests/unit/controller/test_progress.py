"""What workers say of themselves, summed up for the job."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cluster.observe_pod import observe_pod
from app.cluster.observed import Progress
from app.controller.facts import PodFacts
from app.controller.progress import News, last_word, progress_of
from tests.unit.controller.situations import NOW, pod


def at(index: int, done: int | None, total: int = 10, phase: str = "Running", **facts: Any) -> PodFacts:
    return pod(index, phase, progress=None if done is None else Progress(done, total), **facts)


def seen(*pods: PodFacts, before: News | None = None, attempt: int = 1, seconds: float = 0.0) -> News:
    return progress_of(pods, before.stored if before else None, attempt, NOW + timedelta(seconds=seconds))


def shown(news: News) -> tuple[int, int] | None:
    return None if news.stored is None or "done" not in news.stored else (news.stored["done"], news.stored["total"])


def test_nothing_is_said_of_workers_that_say_nothing() -> None:
    assert seen() == seen(at(0, None), at(1, None)) == News(None)


def test_those_that_speak_are_summed_up() -> None:
    news = seen(at(0, 3), at(1, 0, 90), at(2, None))
    assert shown(news) == (3, 100)
    assert news.stored is not None
    assert news.stored["at"] == NOW.isoformat()


def test_what_has_not_changed_keeps_its_time() -> None:
    first = seen(at(0, 3))
    again = seen(at(0, 3), before=first, seconds=60)
    assert (again.stored, again.sentence) == (first.stored, None)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_and_went_still_counts(phase: str) -> None:
    assert shown(seen(at(0, 10, phase=phase, gone=True), at(1, 2))) == (12, 20)


def test_a_pod_that_runs_a_place_again_starts_anew() -> None:
    failed = at(0, 7, phase="Failed", gone=True)
    new = at(0, None, uid="new", created_at=NOW)
    other = at(1, 10, phase="Succeeded")
    assert shown(seen(failed, new, other)) == (10, 10)
    assert shown(seen(failed, at(0, 1, uid="new", created_at=NOW), other)) == (11, 20)


def test_the_later_run_counts_whatever_the_clocks_say() -> None:
    old = at(0, 7, uid="z", created_at=NOW)
    new = at(0, 1, uid="a", attempt=2, created_at=NOW - timedelta(seconds=5))
    assert shown(seen(new, old, attempt=2)) == (1, 10)


def test_tasks_have_indices_of_their_own() -> None:
    assert shown(seen(at(0, 7), at(0, 1, task="other", uid="other"))) == (8, 20)


def test_nothing_is_known_any_more_when_all_start_anew() -> None:
    first = seen(at(0, 7))
    assert shown(seen(at(0, 7, gone=True), at(0, None, uid="new", attempt=2), before=first, attempt=2)) is None


def test_who_falls_silent_and_speaks_again_is_told_of_once() -> None:
    news = seen(at(0, 7))
    for _ in range(3):
        news = seen(at(0, None), before=news)
        assert (shown(news), news.sentence) == (None, None)
        news = seen(at(0, 7), before=news)
        assert (shown(news), news.sentence) == ((7, 10), None)


def test_the_history_tells_of_each_tenth_once() -> None:
    news: News | None = None
    told: list[str] = []
    for done in [0, 1, 1, 5, 9, 10, 15, 19, 25, 20, 15, 29, 30, 100, 99, 100]:
        news = seen(at(0, done, 100), before=news)
        told += [news.sentence] if news.sentence else []
    assert told == [
        "0 of 100 done (0 %).",
        "10 of 100 done (10 %).",
        "25 of 100 done (25 %).",
        "30 of 100 done (30 %).",
        "100 of 100 done (100 %).",
    ]


def test_a_new_run_tells_anew() -> None:
    first = seen(at(0, 9))
    again = seen(at(0, 2, uid="new", attempt=2), before=first, attempt=2)
    assert again.sentence == "2 of 10 done (20 %)."


def test_nothing_to_do_is_no_division_by_zero() -> None:
    assert seen(at(0, 0, 0)).sentence == "0 of 0 done (0 %)."


@pytest.mark.parametrize(
    ("phase", "written", "said", "counts"),
    [
        ("Running", None, None, None),
        ("Running", None, 3, 3),
        ("Running", 5, 3, 5),
        ("Running", 1, 3, 1),
        ("Succeeded", None, 3, 3),
        ("Succeeded", 5, 3, 5),
        ("Succeeded", 1, 3, 3),
        ("Failed", 1, 3, 3),
    ],
)
def test_the_last_word_of_a_pod(phase: str, written: int | None, said: int | None, counts: int | None) -> None:
    annotations = {} if written is None else {"pumice.dev/progress": f"{written}/9"}
    seen = observe_pod({"metadata": {"name": "p", "uid": "u", "annotations": annotations}, "status": {"phase": phase}})
    assert seen is not None
    found = last_word(seen, None if said is None else Progress(said, 9))
    assert found == (None if counts is None else Progress(counts, 9))


PODS = st.builds(
    lambda place, attempt, amounts: at(
        place, min(amounts), max(amounts), uid=f"{place}-{attempt}-{amounts}", attempt=attempt
    ),
    st.integers(0, 3),
    st.integers(1, 2),
    st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)),
)


@given(st.lists(st.lists(PODS, max_size=8), max_size=40))
def test_a_run_never_tells_more_than_eleven_lines(looks: list[list[PodFacts]]) -> None:
    news, lines = News(None), 0
    for pods in looks:
        news = progress_of(pods, news.stored or None, 1, NOW)
        lines += news.sentence is not None
        if news.stored and "done" in news.stored:
            assert 0 <= news.stored["done"] <= news.stored["total"]
    assert lines <= 11
