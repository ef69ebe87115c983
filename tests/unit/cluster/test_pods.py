from typing import Any

import pytest

from app.cluster import errors
from app.cluster.client import ClusterClient
from app.cluster.names import TURN_GATE
from app.cluster.pods import PodReference, Pods

POD = PodReference("team-nlp", "bulk-worker-0", "uid-a")
PATH = "/api/v1/namespaces/team-nlp/pods/bulk-worker-0"
STORED = {"metadata": {"name": "bulk-worker-0", "uid": "uid-a"}}
FAILED_TEST = "the server rejected our request due to an error in our request"


@pytest.fixture
def pods(client: ClusterClient) -> Pods:
    return Pods(client)


async def test_a_turn_is_one_patch_that_tests_whose_turn_it_is(server: Any, pods: Pods) -> None:
    server.answer("PATCH", PATH, server.json(200, STORED))
    assert await pods.admit_pod(POD, ("example.com/quota", TURN_GATE), 17)
    (request,) = server.requests
    assert request.headers["Content-Type"] == "application/json-patch+json"
    assert request.body == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-a"},
        {"op": "test", "path": "/spec/schedulingGates/1/name", "value": "pumice.dev/turn"},
        {"op": "add", "path": "/metadata/annotations/pumice.dev~1index", "value": "17"},
        {"op": "remove", "path": "/spec/schedulingGates/1"},
    ]


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (404, "NotFound", 'pods "bulk-worker-0" not found'),
        (409, "Conflict", "the object has been modified"),
        (422, "Invalid", FAILED_TEST),
    ],
)
async def test_a_pod_that_is_not_as_it_was_gets_no_turn(
    server: Any, pods: Pods, code: int, reason: str, message: str
) -> None:
    server.answer("PATCH", PATH, server.refusal(code, reason, message))
    assert not await pods.admit_pod(POD, (TURN_GATE,), 0)
    assert len(server.requests) == 1


async def test_a_refusal_of_what_the_patch_makes_is_told(server: Any, pods: Pods) -> None:
    words = 'Pod "bulk-worker-0" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes'
    server.answer("PATCH", PATH, server.refusal(422, "Invalid", words))
    with pytest.raises(errors.Rejected, match="Too long"):
        await pods.admit_pod(POD, (TURN_GATE,), 0)


async def test_a_pod_without_our_gate_has_no_turn_to_get(server: Any, pods: Pods) -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        await pods.admit_pod(POD, ("example.com/quota",), 0)
    assert server.requests == []


async def test_a_deletion_names_the_uid(server: Any, pods: Pods) -> None:
    server.answer("DELETE", PATH, server.json(200, STORED))
    assert await pods.delete_pod(POD)
    assert server.requests[0].body["preconditions"] == {"uid": "uid-a"}
    assert "gracePeriodSeconds" not in server.requests[0].body


@pytest.mark.parametrize(("code", "reason"), [(404, "NotFound"), (409, "Conflict")])
async def test_a_deletion_of_what_is_gone_is_no_error(server: Any, pods: Pods, code: int, reason: str) -> None:
    server.answer("DELETE", PATH, server.refusal(code, reason))
    assert not await pods.delete_pod(POD)


@pytest.mark.parametrize("verb", ["admit", "delete"])
async def test_trouble_of_the_server_is_raised(server: Any, pods: Pods, verb: str) -> None:
    server.answer("PATCH" if verb == "admit" else "DELETE", PATH, server.refusal(500, "InternalError"))
    with pytest.raises(errors.ClusterUnavailable):
        await (pods.admit_pod(POD, (TURN_GATE,), 0) if verb == "admit" else pods.delete_pod(POD))
