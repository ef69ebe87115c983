import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.cluster.errors import ClusterUnavailable
from app.cluster.informer import Informer
from app.cluster.informer_settings import InformerSettings, Timing
from app.cluster.kinds import JOB
from app.cluster.observe import observe_job
from app.cluster.volcano import Page, Volcano
from app.cluster.watching import WatchEvent
from tests.unit.cluster.informer_scene import JOBS, Recorder, event, job, listed, lists, running, watches


async def test_list_then_watch(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    stream = server.stream(event("ADDED", job("b", 11)), event("DELETED", job("a", 12)), then="hang")
    server.answer("GET", JOBS, server.json(200, listed(10, job("a", 5))), stream)
    async with running(volcano, recorder) as informer:
        assert not informer.synced.is_set()
        assert informer.last_contact_at is None
        await recorder.until(lambda: len(recorder.changes) == 3)
        assert informer.synced.is_set()
        assert informer.last_contact_at is not None
        assert list(informer.cache) == ["team-nlp/b"]
        assert informer.get("team-nlp/a") is None
        assert [found.name for found in informer.indexed("id-b")] == ["b"]
        assert informer.indexed("id-a") == ()
    assert recorder.changes == [
        ("team-nlp/a", None, "Running"),
        ("team-nlp/b", None, "Running"),
        ("team-nlp/a", "Running", None),
    ]
    assert server.requests[1].query["timeoutSeconds"] == "290"


# S-01
@pytest.mark.parametrize("form", ["event", "status"])
async def test_410_lists_once_and_goes_on(server: Any, volcano: Volcano, recorder: Recorder, form: str) -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 10 (99)"}
    refusal = server.stream(event("ERROR", gone)) if form == "event" else server.json(410, gone)
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10, job("a", 5), job("c", 6))),
        refusal,
        server.json(200, listed(100, job("a", 50, "Completed"), job("b", 60))),
        server.stream(then="hang"),
    )
    async with running(volcano, recorder) as informer:
        await recorder.until(lambda: watches(server) == ["10", "100"])
        assert sorted(informer.cache) == ["team-nlp/a", "team-nlp/b"]
    assert recorder.changes[2:] == [
        ("team-nlp/a", "Running", "Completed"),
        ("team-nlp/b", None, "Running"),
        ("team-nlp/c", "Running", None),
    ]
    assert recorder.lists == 2
    assert recorder.waits == []
    # The new list asks for the newest state, not for the old version.
    assert all("resourceVersion" not in request.query for request in server.requests if "watch" not in request.query)


async def test_410_for_ever_is_listed_with_growing_pauses(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    refusals = [server.json(200, listed(10)), server.refusal(410, "Gone")] * 5
    server.answer("GET", JOBS, *refusals, server.json(200, listed(11)), server.stream(then="hang"))
    async with running(volcano, recorder):
        await recorder.until(lambda: watches(server)[-1:] == ["11"])
    assert recorder.waits == [1.0, 2.0, 4.0, 8.0]


# S-03
async def test_a_silent_connection_is_given_up_and_the_watch_goes_on(
    server: Any, volcano: Volcano, recorder: Recorder
) -> None:
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10, job("a", 5))),
        server.stream(event("BOOKMARK", job("x", 20)), then="hang"),
        server.stream(event("MODIFIED", job("a", 30, "Completed")), then="hang"),
    )
    async with running(volcano, recorder, InformerSettings(inactivity_seconds=0.2)) as informer:
        await recorder.until(lambda: len(recorder.changes) == 2)
        assert informer.get("team-nlp/a").phase == "Completed"
    assert watches(server)[:2] == ["10", "20"]
    assert recorder.failures[0] == "ClusterUnavailable"
    assert recorder.lists == 1


# S-04
async def test_quiet_watches_are_no_failure(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    hour = [server.stream() for _ in range(14)]
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10, job("a", 5))),
        *hour,
        server.stream(event("MODIFIED", job("a", 30, "Completed")), then="hang"),
    )
    clock = iter(range(0, 300_000, 300))
    async with running(volcano, recorder, InformerSettings(relist_seconds=float("inf"))) as informer:
        # Each look at the clock finds it five minutes on: seventy minutes pass in milliseconds.
        object.__setattr__(informer._timing, "monotonic", lambda: float(next(clock)))
        await recorder.until(lambda: len(recorder.changes) == 2)
    assert recorder.lists == 1
    assert recorder.waits == []
    assert recorder.failures == []
    assert watches(server) == ["10"] * 15


# S-10
async def test_an_object_that_vanished_without_an_event_is_found_by_a_later_list(
    server: Any, volcano: Volcano, recorder: Recorder
) -> None:
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10, job("a", 5), job("b", 6))),
        *[server.stream() for _ in range(2)],
        server.json(200, listed(40, job("b", 6))),
        server.stream(then="hang"),
    )
    now = 0.0

    def monotonic() -> float:
        nonlocal now
        now += 60.0
        return now

    async with running(volcano, recorder, InformerSettings(relist_seconds=600.0)) as informer:
        object.__setattr__(informer._timing, "monotonic", monotonic)
        await recorder.until(lambda: watches(server)[-1:] == ["40"])
        assert list(informer.cache) == ["team-nlp/b"]
    assert watches(server) == ["10", "10", "40"]
    assert recorder.lists == 2


# S-06


async def test_pages_and_a_token_that_expires(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10, job("old", 1), more="t1")),
        server.refusal(410, "Expired"),
        server.json(200, listed(20, job("a", 1), more="t2")),
        server.json(200, listed(20, job("b", 2), more="t3")),
        server.json(200, listed(20, job("c", 3))),
        server.stream(then="hang"),
    )
    async with running(volcano, recorder, InformerSettings(page_size=1)) as informer:
        await recorder.until(lambda: watches(server) == ["20"])
        # Nothing of the list that was given up has ever been seen.
        assert sorted(informer.cache) == ["team-nlp/a", "team-nlp/b", "team-nlp/c"]
    assert lists(server) == ["", "t1", "", "t2", "t3"]
    assert recorder.lists == 1
    assert [key for key, _, _ in recorder.changes] == ["team-nlp/a", "team-nlp/b", "team-nlp/c"]
    assert {request.query["limit"] for request in server.requests if "watch" not in request.query} == {"1"}


# S-10, S-21
async def test_nothing_vanishes_while_the_cluster_is_away(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    away = [server.refusal(500, "InternalError"), server.refusal(503, ""), server.refusal(401, "Unauthorized")]
    server.answer(
        "GET",
        JOBS,
        *away,
        server.json(200, listed(10, job("a", 1))),
        server.refusal(410, "Expired"),
        server.json(200, listed(20, more="t1")),
        *away,
        server.json(200, listed(30)),
        server.stream(then="hang"),
    )
    async with running(volcano, recorder) as informer:
        await recorder.until(informer.synced.is_set)
        assert list(informer.cache) == ["team-nlp/a"]
        await recorder.until(lambda: watches(server) == ["10", "30"])
    assert recorder.changes == [("team-nlp/a", None, "Running"), ("team-nlp/a", "Running", None)]
    assert recorder.failures == [
        *("ClusterUnavailable", "ClusterThrottled", "Unauthorized", "Expired"),
        *("ClusterUnavailable", "ClusterThrottled", "Unauthorized"),
    ]


async def test_the_servers_wish_to_wait_is_honoured(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    server.answer(
        "GET",
        JOBS,
        server.refusal(429, "TooManyRequests", headers={"Retry-After": "3"}),
        server.json(200, listed(10)),
        server.stream(then="hang"),
    )
    async with running(volcano, recorder):
        await recorder.until(lambda: watches(server) == ["10"])
    assert recorder.waits == [3.5]


async def test_the_same_again_is_no_change_and_an_older_one_leads_to_a_list(
    server: Any, volcano: Volcano, recorder: Recorder
) -> None:
    done = job("a", 12, "Completed")
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10, job("a", 5))),
        server.stream(event("MODIFIED", done), event("MODIFIED", done), event("MODIFIED", job("a", 11)), then="hang"),
        server.json(200, listed(20, done)),
        server.stream(then="hang"),
    )
    async with running(volcano, recorder) as informer:
        await recorder.until(lambda: watches(server) == ["10", "20"])
        assert informer.get("team-nlp/a").phase == "Completed"
    assert recorder.changes == [("team-nlp/a", None, "Running"), ("team-nlp/a", "Running", "Completed")]
    assert recorder.skips == ["out_of_order"]


# S-24
async def test_another_object_of_the_same_name_shows_by_its_uid(
    server: Any, volcano: Volcano, recorder: Recorder
) -> None:
    seen: list[tuple[str | None, str | None]] = []
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10, job("a", 5, uid="A"))),
        server.stream(event("MODIFIED", job("a", 12, uid="B")), then="hang"),
    )
    async with running(volcano, recorder) as informer:
        informer._on_change = lambda _key, old, new: seen.append((old and old.uid, new and new.uid))
        await recorder.until(lambda: ("A", "B") in seen)


async def test_cancelling_closes_the_watch(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    server.answer("GET", JOBS, server.json(200, listed(10, job("a", 5))), server.stream(then="hang"))
    async with running(volcano, recorder) as informer:
        await recorder.until(lambda: watches(server) == ["10"])
    assert informer._events is None
    assert list(informer.cache) == ["team-nlp/a"]


async def test_a_watch_that_failed_is_closed_before_the_pause(recorder: Recorder) -> None:
    log: list[str] = []

    class Source:
        async def list_page(self, kind: Any, **options: Any) -> Page:
            return Page([], "10", "")

        @asynccontextmanager
        async def open_watch(self, kind: Any, resource_version: str, **options: Any) -> AsyncIterator[Any]:
            async def broken() -> AsyncIterator[WatchEvent]:
                raise ClusterUnavailable("broken")
                yield WatchEvent("", {})

            log.append("open")
            yield broken()
            log.append("close")

    async def sleep(seconds: float) -> None:
        log.append("pause")
        recorder.happened.set()
        await asyncio.Event().wait()

    informer = Informer(Source(), JOB, observe_job, timing=Timing(sleep=sleep))
    task = asyncio.create_task(informer.run())
    await recorder.until(lambda: "pause" in log)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert log == ["open", "close", "pause"]
