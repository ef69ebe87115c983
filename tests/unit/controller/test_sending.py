"""What a create call comes to, with a scripted API server."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from app.cluster.errors import AlreadyExists, ClusterError, NotFound, Rejected, RightMissing
from app.cluster.rights import Right
from app.controller.pacing import Pacer
from app.controller.sending import Sender, Sent
from app.jobs.schemas import JobCreate
from app.jobs.worklist import Claim
from app.settings import Settings

CLOSED = "can only submit job to queue with state `Open`, queue `q` status is `Closed`"
FOR_EVER = float("inf")
WHY = "We may not make it."
LACKING = RightMissing(Right("create", "jobs", "batch.volcano.sh", "ns"))


class ScriptedVolcano:
    """Answers every create call and every read with the same error."""

    def __init__(self, on_create: ClusterError, on_get: ClusterError) -> None:
        self._on_create = on_create
        self._on_get = on_get

    async def create_job(self, manifest: Any, *, timeout_seconds: float) -> Any:
        raise self._on_create

    async def get_job(self, namespace: str, name: str) -> Any:
        raise self._on_get


class KnownNamespaces:
    async def ensure(self, name: str) -> None:
        pass

    def forget(self, name: str) -> None:
        pass

    def why_missing(self, name: str) -> str | None:
        return WHY if name == "not-ours" else None


def claim(**facts: Any) -> Claim:
    spec = JobCreate.model_validate(
        {"name": "a", "tasks": [{"name": "worker", "image": "i", "replicas": 1, "resources": {}}]}
    )
    standard = Claim(
        id=UUID(int=1),
        token=UUID(int=2),
        team="t",
        queue="q",
        k8s_namespace="ns",
        k8s_name="a",
        name="a",
        priority="normal",
        labels={},
        spec=spec.model_dump(mode="json") | {"queue": "q"},
        run_indices=None,
        counts={},
        waited_seconds=0.0,
        reason=None,
        maybe_sent=False,
    )
    return replace(standard, **facts)


async def send(one: Claim, on_create: ClusterError, on_get: ClusterError | None = None) -> Sent:
    volcano: Any = ScriptedVolcano(on_create, on_get or NotFound("gone", status=404))
    namespaces: Any = KnownNamespaces()
    sender = Sender(volcano, namespaces, Pacer(4), Settings(_env_file=None), UUID(int=3))
    return await sender.send(one, FOR_EVER)


async def test_the_window_decides_anew_about_a_job_whose_queue_is_closed() -> None:
    sent = await send(claim(), Rejected(CLOSED, status=400))
    assert (sent.put_back, sent.put_back_in_seconds, sent.reason) == (True, None, "QueueNotOpen")


async def test_a_job_that_may_exist_is_not_sent_to_a_closed_queue_without_a_pause() -> None:
    sent = await send(claim(maybe_sent=True), Rejected(CLOSED, status=400))
    assert (sent.put_back, sent.reason) == (True, "QueueNotOpen")
    assert sent.put_back_in_seconds is not None
    assert sent.put_back_in_seconds >= 1


async def test_a_job_that_exists_and_cannot_be_read_is_not_asked_for_without_a_pause() -> None:
    sent = await send(claim(), AlreadyExists("there", status=409, reason="AlreadyExists"))
    assert sent.put_back
    assert sent.put_back_in_seconds is not None
    assert sent.put_back_in_seconds >= 1


@pytest.mark.parametrize("spec", [{}, {"tasks": None}, {"name": "a", "tasks": [{"name": "x"}]}])
async def test_a_stored_job_that_cannot_be_rendered_fails_alone(spec: dict[str, Any]) -> None:
    sent = await send(claim(spec=spec), Rejected("never asked", status=400))
    assert (sent.failed, sent.reason) == (True, "InvalidSpec")


async def test_a_job_that_we_may_not_create_is_held_with_the_missing_right() -> None:
    sent = await send(claim(), LACKING)
    assert (sent.put_back, sent.failed, sent.reason) == (True, False, "ClusterRightMissing")
    assert sent.message == LACKING.message
    assert sent.put_back_in_seconds is not None
    assert sent.put_back_in_seconds >= 1


@pytest.mark.parametrize("on_create", [Rejected("webhook", status=400), Rejected(CLOSED, status=400), LACKING])
async def test_a_job_that_may_exist_and_that_we_may_not_read_is_neither_failed_nor_forgotten(
    on_create: ClusterError,
) -> None:
    sent = await send(claim(maybe_sent=True), on_create, LACKING)
    assert (sent.put_back, sent.failed, sent.reason) == (True, False, "ClusterRightMissing")
    assert sent.put_back_in_seconds is not None
    assert sent.put_back_in_seconds >= 1


async def test_a_job_that_exists_and_that_we_may_not_read_is_left_alone() -> None:
    sent = await send(claim(), AlreadyExists("there", status=409, reason="AlreadyExists"), LACKING)
    assert (sent.put_back, sent.failed, sent.k8s_uid) == (False, False, None)


async def test_a_namespace_where_we_may_not_create_is_left_alone_and_others_are_not() -> None:
    volcano: Any = ScriptedVolcano(LACKING, NotFound("gone", status=404))
    namespaces: Any = KnownNamespaces()
    sender = Sender(volcano, namespaces, Pacer(4), Settings(_env_file=None), UUID(int=3))
    await sender.send(claim(), FOR_EVER)
    volcano._on_create = Rejected("asked", status=400)
    waits = await sender.send(claim(), FOR_EVER)
    assert (waits.put_back, waits.reason, waits.message) == (True, "ClusterRightMissing", LACKING.message)
    assert (await sender.send(claim(k8s_namespace="other"), FOR_EVER)).message == "asked"


async def test_a_namespace_that_we_may_not_make_is_the_reason_that_is_given() -> None:
    missing = NotFound('namespaces "not-ours" not found', status=404)
    sent = await send(claim(k8s_namespace="not-ours"), missing)
    assert (sent.put_back, sent.reason) == (True, "NamespaceMissing")
    assert sent.message == f"The namespace not-ours is not in the cluster. {WHY}"
