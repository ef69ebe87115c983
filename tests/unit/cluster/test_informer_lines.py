from collections.abc import Mapping
from typing import Any

from app.cluster.observe import observe_job
from app.cluster.observed import ObservedJob
from app.cluster.volcano import Volcano
from tests.unit.cluster.informer_scene import JOBS, Recorder, event, job, listed, running, watches


async def test_long_lines(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    stream: list[Any] = []
    for version, size in ((20, 70 * 1024), (30, 600 * 1024), (40, 1_400_000)):
        stream += [
            event("ADDED", job(f"big-{size}", version, args="x" * size)),
            event("ADDED", job(f"s-{size}", version + 1)),
        ]
    server.answer("GET", JOBS, server.json(200, listed(10)), server.stream(*stream, then="hang"))
    async with running(volcano, recorder) as informer:
        await recorder.until(lambda: len(recorder.changes) == 6)
        assert len(informer.cache) == 6
    assert len(watches(server)) == 1


async def test_lines_may_come_in_pieces_and_a_cut_one_is_sent_again(
    server: Any, volcano: Volcano, recorder: Recorder
) -> None:
    text = b'{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u","resourceVersion":"11"}}}'
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10)),
        server.stream(text[:20], text[20:], b"\r\n\n", b'{"type":"ADDED","obj', then="cut"),
        server.stream(event("ADDED", job("b", 12)), then="hang"),
    )
    async with running(volcano, recorder) as informer:
        await recorder.until(lambda: len(recorder.changes) == 2)
        assert sorted(informer.cache) == ["a", "team-nlp/b"]
    assert watches(server) == ["10", "11"]


# S-07
async def test_strange_events_are_skipped_and_the_next_good_one_counts(
    server: Any, volcano: Volcano, recorder: Recorder
) -> None:
    strange = [
        event("BOOKMARK", {"kind": "Job", "metadata": {"resourceVersion": "11"}}),
        event("FOO", job("x", 12)),
        event("ADDED", None),
        event("ADDED", {"metadata": {"name": None, "resourceVersion": "13"}}),
        event("ADDED", {"metadata": {"name": "no-uid", "resourceVersion": "14"}}),
        {},
        event("ADDED", {**job("no-status", 15), "status": None, "spec": {"tasks": None}}),
        event("ADDED", job("a", 16, "Suspended2")),
    ]
    server.answer("GET", JOBS, server.json(200, listed(10)), server.stream(*strange, then="hang"))
    async with running(volcano, recorder) as informer:
        await recorder.until(lambda: len(recorder.changes) == 2)
        assert informer.get("team-nlp/no-status").phase == ""
        assert informer.get("team-nlp/a").phase == "Suspended2"
    assert recorder.skips == ["unknown_type", "strange_object", "strange_object", "strange_object", "unknown_type"]
    assert len(watches(server)) == 1


async def test_a_projection_that_fails_leaves_the_others_alone(
    server: Any, volcano: Volcano, recorder: Recorder
) -> None:
    def project(obj: Mapping[str, Any]) -> ObservedJob | None:
        if obj["metadata"]["name"] == "bad":
            raise KeyError
        return observe_job(obj)

    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10, job("bad", 1), job("a", 2))),
        server.stream(event("ADDED", job("bad", 11)), event("ADDED", job("b", 12)), then="hang"),
    )
    async with running(volcano, recorder, project=project) as informer:
        await recorder.until(lambda: len(recorder.changes) == 2)
        assert sorted(informer.cache) == ["team-nlp/a", "team-nlp/b"]
    assert recorder.skips == ["strange_object", "strange_object"]


async def test_a_line_that_is_not_json_leads_to_a_list(server: Any, volcano: Volcano, recorder: Recorder) -> None:
    server.answer(
        "GET",
        JOBS,
        server.json(200, listed(10)),
        server.stream(b"{oops\n", then="hang"),
        server.json(200, listed(20, job("a", 15))),
        server.stream(then="hang"),
    )
    async with running(volcano, recorder):
        await recorder.until(lambda: watches(server) == ["10", "20"])
    assert recorder.failures == ["Garbled"]
    assert recorder.changes == [("team-nlp/a", None, "Running")]
