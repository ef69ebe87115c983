import asyncio
from typing import Any

import pytest

from app.cluster import errors
from app.cluster.client import ClusterSettings, open_client
from app.cluster.kinds import JOB, NODE, POD, QUEUE, WATCHED_KINDS
from app.cluster.names import RECORDED_FINALIZER
from app.cluster.volcano import JobReference, Volcano

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/team-nlp/jobs"
ONE = f"{JOBS}/bulk-score"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
JOB_A = JobReference("team-nlp", "bulk-score", "uid-a")
MANIFEST = {"metadata": {"namespace": "team-nlp", "name": "bulk-score"}, "spec": {"queue": "q-nlp"}}


def stored(uid: str = "uid-a", finalizers: list[str] | None = None) -> dict[str, Any]:
    return {"metadata": {"name": "bulk-score", "uid": uid, "resourceVersion": "7", "finalizers": finalizers}}


async def test_create_sends_the_manifest_and_the_token_once(server: Any, volcano: Volcano) -> None:
    server.answer("POST", JOBS, server.json(201, stored()))
    assert await volcano.create_job(MANIFEST) == stored()
    (request,) = server.requests
    assert request.body == MANIFEST
    assert request.headers["Authorization"] == "Bearer secret-token"
    assert request.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("fault", ["500", "drop", "hang"])
async def test_create_is_never_repeated_and_its_outcome_is_unknown(server: Any, volcano: Volcano, fault: str) -> None:
    handlers = {"500": server.refusal(500, "InternalError"), "drop": server.drop, "hang": server.hang}
    server.answer("POST", JOBS, handlers[fault])
    with pytest.raises(errors.ClusterUnavailable) as caught:
        await volcano.create_job(MANIFEST, timeout_seconds=0.3)
    assert caught.value.outcome_unknown
    assert len(server.requests) == 1


async def test_a_refused_connection_is_known_to_have_done_nothing(unused_tcp_port: int) -> None:
    async with open_client(ClusterSettings(url=f"http://127.0.0.1:{unused_tcp_port}")) as client:
        with pytest.raises(errors.ClusterUnavailable) as caught:
            await Volcano(client).create_job(MANIFEST)
    assert not caught.value.outcome_unknown
    assert str(unused_tcp_port) not in str(caught.value)


async def test_an_answer_that_is_not_json_leaves_the_outcome_unknown(server: Any, volcano: Volcano) -> None:
    server.answer("POST", JOBS, server.json(201, "<html>"))
    with pytest.raises(errors.Garbled) as caught:
        await volcano.create_job(MANIFEST)
    assert caught.value.outcome_unknown


async def test_reads_are_repeated(server: Any, volcano: Volcano) -> None:
    server.answer("GET", ONE, server.refusal(500, "InternalError"), server.drop, server.json(200, stored()))
    assert await volcano.get_job("team-nlp", "bulk-score") == stored()


async def test_reads_are_not_repeated_when_the_answer_is_no(server: Any, volcano: Volcano) -> None:
    server.answer("GET", ONE, server.refusal(404, "NotFound"))
    with pytest.raises(errors.NotFound):
        await volcano.get_job("team-nlp", "bulk-score")
    assert len(server.requests) == 1


async def test_delete_names_the_uid(server: Any, volcano: Volcano) -> None:
    server.answer("DELETE", ONE, server.json(200, {"kind": "Status", "status": "Success"}))
    assert await volcano.delete_job(JOB_A, propagation="Foreground")
    assert server.requests[0].body["preconditions"] == {"uid": "uid-a"}
    assert server.requests[0].body["propagationPolicy"] == "Foreground"


@pytest.mark.parametrize(("code", "reason"), [(404, "NotFound"), (409, "Conflict")])
async def test_delete_of_what_is_gone_is_no_error(server: Any, volcano: Volcano, code: int, reason: str) -> None:
    server.answer("DELETE", ONE, server.refusal(code, reason))
    assert not await volcano.delete_job(JOB_A)


async def test_the_finalizer_is_taken_off_by_its_place(server: Any, volcano: Volcano) -> None:
    server.answer("GET", ONE, server.json(200, stored(finalizers=["foregroundDeletion", RECORDED_FINALIZER])))
    server.answer("PATCH", ONE, server.json(200, stored()))
    await volcano.remove_finalizer(JOB_A, RECORDED_FINALIZER)
    patch = server.requests[-1]
    assert patch.headers["Content-Type"] == "application/json-patch+json"
    assert patch.body == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-a"},
        {"op": "test", "path": "/metadata/finalizers/1", "value": RECORDED_FINALIZER},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]


@pytest.mark.parametrize("refused", [(422, "Invalid"), (409, "Conflict")])
async def test_the_finalizer_is_looked_for_again_when_the_list_changed(
    server: Any, volcano: Volcano, refused: tuple[int, str]
) -> None:
    server.answer(
        "GET",
        ONE,
        server.json(200, stored(finalizers=["a", RECORDED_FINALIZER])),
        server.json(200, stored(finalizers=[RECORDED_FINALIZER])),
    )
    server.answer("PATCH", ONE, server.refusal(*refused), server.json(200, stored()))
    await volcano.remove_finalizer(JOB_A, RECORDED_FINALIZER)
    assert server.requests[-1].body[-1] == {"op": "remove", "path": "/metadata/finalizers/0"}


@pytest.mark.parametrize("found", [None, stored(), stored(finalizers=["other"]), stored("uid-b", [RECORDED_FINALIZER])])
async def test_nothing_is_patched_when_there_is_nothing_to_take_off(server: Any, volcano: Volcano, found: Any) -> None:
    server.answer("GET", ONE, server.refusal(404, "NotFound") if found is None else server.json(200, found))
    await volcano.remove_finalizer(JOB_A, RECORDED_FINALIZER)
    assert [request.method for request in server.requests] == ["GET"]


async def test_a_finalizer_that_changes_for_ever_is_a_conflict(server: Any, volcano: Volcano) -> None:
    server.answer("GET", ONE, server.json(200, stored(finalizers=[RECORDED_FINALIZER])))
    server.answer("PATCH", ONE, server.refusal(422, "Invalid"))
    with pytest.raises(errors.Conflict, match="5 tries"):
        await volcano.remove_finalizer(JOB_A, RECORDED_FINALIZER)


async def test_a_command_targets_one_uid_and_asking_again_is_quiet(server: Any, volcano: Volcano) -> None:
    path = "/apis/bus.volcano.sh/v1alpha1/namespaces/team-nlp/commands"
    server.answer("POST", path, server.json(201, {}), server.refusal(409, "AlreadyExists"))
    await volcano.create_command(JOB_A, "AbortJob")
    await volcano.create_command(JOB_A, "AbortJob")
    first, second = server.requests
    assert first.body == second.body
    assert first.body["action"] == "AbortJob"
    assert first.body["target"]["uid"] == "uid-a"
    assert first.body["metadata"]["ownerReferences"] == [first.body["target"]]


async def test_queue_verbs(server: Any, volcano: Volcano) -> None:
    queue = {"metadata": {"name": "q-nlp", "uid": "uid-q"}}
    server.answer("GET", f"{QUEUES}/q-nlp", server.json(200, queue))
    server.answer("POST", QUEUES, server.json(201, queue))
    server.answer("PATCH", f"{QUEUES}/q-nlp", server.json(200, queue), server.refusal(409, "Conflict"))
    assert await volcano.get_queue("q-nlp") == queue
    assert await volcano.create_queue(queue) == queue
    assert await volcano.patch_queue("q-nlp", {"spec": {"weight": 2}}, resource_version="7") == queue
    assert server.requests[-1].headers["Content-Type"] == "application/merge-patch+json"
    assert server.requests[-1].body == {"spec": {"weight": 2}, "metadata": {"resourceVersion": "7"}}
    with pytest.raises(errors.Conflict):
        await volcano.patch_queue("q-nlp", {"spec": {"weight": 2}})


async def test_a_page_tells_where_the_list_goes_on(server: Any, volcano: Volcano) -> None:
    answer = {"metadata": {"resourceVersion": "9", "continue": "next"}, "items": [stored()]}
    server.answer("GET", POD.collection_path, server.json(200, answer))
    page = await volcano.list_page(POD, limit=500, continue_token="here")
    assert (page.items, page.resource_version, page.continue_token) == ([stored()], "9", "next")
    assert server.requests[0].query == {"limit": "500", "continue": "here", "labelSelector": "pumice.dev/job-id"}


@pytest.mark.parametrize("answer", [{}, {"items": None, "metadata": None}, {"metadata": {}}])
async def test_a_list_with_null_fields_is_an_empty_page(server: Any, volcano: Volcano, answer: Any) -> None:
    server.answer("GET", NODE.collection_path, server.json(200, answer))
    page = await volcano.list_page(NODE)
    assert (page.items, page.resource_version, page.continue_token) == ([], "", "")


async def test_a_watch_is_asked_for_with_bookmarks(server: Any, volcano: Volcano) -> None:
    event = {"type": "ADDED", "object": stored()}
    server.answer("GET", QUEUE.collection_path, server.stream(event, {"type": 3, "object": None}))
    async with volcano.open_watch(QUEUE, "9", timeout_seconds=290, sock_read_seconds=5) as events:
        assert [tuple(seen) async for seen in events] == [("ADDED", stored()), ("", {})]
    assert server.requests[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "9",
        "timeoutSeconds": "290",
    }


async def test_a_refused_watch_raises(server: Any, volcano: Volcano) -> None:
    server.answer("GET", JOB.collection_path, server.refusal(410, "Expired"))
    with pytest.raises(errors.Expired):
        async with volcano.open_watch(JOB, "1", timeout_seconds=290, sock_read_seconds=5):
            pass


async def test_version(server: Any, volcano: Volcano) -> None:
    server.answer("GET", "/version", server.json(200, {"gitVersion": "v1.36.1"}))
    assert await volcano.version() == "v1.36.1"


async def test_a_silent_watch_can_be_left(server: Any, volcano: Volcano) -> None:
    server.answer("GET", QUEUE.collection_path, server.stream(then="hang"))
    async with volcano.open_watch(QUEUE, "1", timeout_seconds=290, sock_read_seconds=60) as events:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(aiter(events)), 0.05)


def test_paths() -> None:
    assert [kind.collection_path for kind in WATCHED_KINDS] == [
        "/apis/batch.volcano.sh/v1alpha1/jobs",
        "/apis/scheduling.volcano.sh/v1beta1/podgroups",
        "/api/v1/pods",
        QUEUES,
        "/api/v1/nodes",
    ]
    assert JOB.object_path("a/b", "c?d") == "/apis/batch.volcano.sh/v1alpha1/namespaces/a%2Fb/jobs/c%3Fd"
