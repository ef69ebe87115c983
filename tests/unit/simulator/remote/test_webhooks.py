"""AdmissionReviews over HTTPS, as a kube-apiserver asks them."""

import base64
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import jsonpatch
import pytest

from app.simulator.clock import Clock
from app.simulator.cluster import SimulatedCluster
from app.simulator.kinds import QUEUE
from app.simulator.objects import Object
from app.simulator.remote.http_objects import HttpObjects
from app.simulator.remote.reviews import answer
from app.simulator.remote.webhook_configurations import webhook_configurations
from app.simulator.remote.webhook_server import WebhookServer
from app.simulator.volcano.informer import Informer

OPEN: Object = {"metadata": {"name": "default"}, "spec": {"weight": 1}, "status": {"state": "Open"}}
GROUPS = {"jobs": "batch.volcano.sh", "queues": "scheduling.volcano.sh", "podgroups": "scheduling.volcano.sh"}


def job(**spec: Any) -> Object:
    amounts = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    pod = {"containers": [{"name": "main", "image": "llm:1", "resources": amounts}]}
    task = {"name": "worker", "replicas": 2, "template": {"spec": pod}}
    return {"metadata": {"name": "j", "namespace": "team"}, "spec": {"queue": "default", "tasks": [task], **spec}}


def review(resource: str, operation: str, new: Object | None, old: Object | None = None) -> Object:
    named = {"group": GROUPS[resource], "version": "v1", "resource": resource}
    request = {"uid": "review-1", "resource": named, "operation": operation, "object": new, "oldObject": old}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def test_defaults_are_answered_as_a_patch() -> None:
    asked = job()
    response = answer(review("jobs", "CREATE", asked), "mutate", {"default": OPEN})["response"]
    assert (response["uid"], response["allowed"], response["patchType"]) == ("review-1", True, "JSONPatch")
    patched = jsonpatch.apply_patch(asked, json.loads(base64.b64decode(response["patch"])))
    spec = patched["spec"]
    assert (spec["schedulerName"], spec["minAvailable"], spec["maxRetry"]) == ("volcano", 2, 3)
    assert "minAvailable" not in asked["spec"]


def test_nothing_to_change_is_no_patch() -> None:
    response = answer(review("jobs", "UPDATE", job(), job()), "mutate", {})["response"]
    assert response == {"uid": "review-1", "allowed": True}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (review("jobs", "CREATE", job(queue="nope", minAvailable=2)), "unable to find job queue"),
        (review("queues", "DELETE", None, OPEN), "`default` queue can not be deleted"),
        (review("podgroups", "CREATE", {"metadata": {"name": "g"}, "spec": {"queue": "nope"}}), "unable to find queue"),
        (review("jobs", "UPDATE", job(queue="other"), job()), "job updates may not change fields"),
    ],
)
def test_a_refusal_has_the_words_alone(asked: Object, words: str) -> None:
    response = answer(asked, "validate", {"default": OPEN})["response"]
    assert not response["allowed"]
    assert response["status"]["message"].startswith(words)  # the API server says which webhook it was
    assert "code" not in response["status"]


def test_the_scope_is_helms() -> None:
    configurations = dict(webhook_configurations("https://127.0.0.1:1", b"pem"))
    scope = {
        webhook["name"]: (webhook["rules"][0]["resources"], webhook["rules"][0]["operations"], webhook["failurePolicy"])
        for configuration in configurations.values()
        for webhook in configuration["webhooks"]
    }
    assert scope == {
        "mutatejob.volcano.sh": (["jobs"], ["CREATE"], "Fail"),
        "mutatequeue.volcano.sh": (["queues"], ["CREATE"], "Fail"),
        "validatejob.volcano.sh": (["jobs"], ["CREATE", "UPDATE"], "Fail"),
        "validatequeue.volcano.sh": (["queues"], ["CREATE", "UPDATE", "DELETE"], "Fail"),
        "validatepodgroup.volcano.sh": (["podgroups"], ["CREATE"], "Fail"),
    }


@pytest.fixture
async def server(objects: HttpObjects) -> AsyncIterator[WebhookServer]:
    server = WebhookServer(objects, Informer(objects, QUEUE, Clock()))  # a lister that has seen nothing yet
    async with server.serving():
        yield server


async def ask(server: WebhookServer, path: str, body: Any) -> tuple[int, Any]:
    context = ssl.create_default_context(cadata=server.certificate.pem.decode())
    async with (
        aiohttp.ClientSession() as session,
        session.post(server.url + path, json=body, ssl=context) as answered,
    ):
        return answered.status, await answered.text()


async def test_a_queue_that_the_lister_has_not_seen_is_looked_for(
    server: WebhookServer, cluster: SimulatedCluster
) -> None:
    asked = review("jobs", "CREATE", job(minAvailable=2))
    status, text = await ask(server, "/jobs/validate", asked)
    assert (status, json.loads(text)["response"]["allowed"]) == (200, False)
    await cluster.objects.create(QUEUE, OPEN)
    await cluster.objects.replace(QUEUE, {**await cluster.objects.get(QUEUE, None, "default"), **OPEN}, "status")
    status, text = await ask(server, "/jobs/validate", asked)
    assert (status, json.loads(text)["response"]["allowed"]) == (200, True)


@pytest.mark.parametrize("body", [{}, [], {"request": {"resource": {"group": "", "resource": "pods"}}}])
async def test_what_is_no_review_is_an_error(server: WebhookServer, body: Any) -> None:
    status, text = await ask(server, "/jobs/validate", body)
    assert (status, text) == (500, "The request for admission could not be judged.")
