"""Whatever is sent, the answer is an object or a refusal."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.simulator.kinds import JOB, KINDS, NAMESPACE, POD, Kind
from app.simulator.memory import MemoryObjects
from app.simulator.objects import ApiError, Object, clone
from app.simulator.registry import Registry
from app.simulator.store import Store

FIELDS = st.sampled_from(
    [
        "args",
        "annotations",
        "command",
        "conditions",
        "containers",
        "data",
        "finalizers",
        "generateName",
        "image",
        "items",
        "labels",
        "limits",
        "metadata",
        "name",
        "namespace",
        "nodeName",
        "ownerReferences",
        "phase",
        "policies",
        "priorityClassName",
        "replicas",
        "requests",
        "resources",
        "restartPolicy",
        "spec",
        "status",
        "stringData",
        "tasks",
        "template",
        "tolerations",
        "type",
        "value",
        "weight",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 5) | st.sampled_from(["", "default", "a", "Bad Name", "1", "1Gi"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=25,
)


@pytest.fixture
def registry() -> Registry:
    registry = Registry(Store())
    registry.create(NAMESPACE, {"metadata": {"name": "default"}})
    return registry


@contextmanager
def refusals_allowed() -> Iterator[list[int]]:
    """The codes of the refusals inside the block, at most one."""
    codes: list[int] = []
    try:
        yield codes
    except ApiError as refusal:
        codes.append(refusal.code)


def filled_registry() -> Registry:
    registry = Registry(Store())
    registry.create(NAMESPACE, {"metadata": {"name": "default"}})
    return registry


@settings(max_examples=1000, deadline=None)
@given(kind=st.sampled_from(KINDS), body=st.dictionaries(FIELDS, VALUES, max_size=6), named=st.booleans())
def test_any_body_is_stored_or_refused(kind: Kind, body: Object, named: bool) -> None:
    registry = filled_registry()
    if named:
        body["metadata"] = {**(body.get("metadata") or {})} if isinstance(body.get("metadata"), dict) else {}
        body["metadata"] |= {"name": "a", "namespace": "default"}
    with refusals_allowed() as codes:
        record = registry.create(kind, clone(body))
        assert json.loads(record.encoded) == record.object
    assert all(400 <= code < 500 for code in codes)


POD_BODY: Object = {
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "x:1"}]},
}
JOB_BODY: Object = {
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"tasks": [{"name": "worker", "replicas": 1, "template": {"spec": {}}}]},
}


@settings(max_examples=100, deadline=None)
@given(
    first=st.sampled_from([(POD, POD_BODY), (JOB, JOB_BODY)]),
    patch=st.dictionaries(FIELDS, VALUES, max_size=5),
    subresource=st.sampled_from([None, "status"]),
)
async def test_any_patch_is_applied_or_refused(first: Any, patch: Object, subresource: str | None) -> None:
    kind, body = first
    objects = MemoryObjects(filled_registry())
    created = await objects.create(kind, body)
    before = clone(created)
    with refusals_allowed() as codes:
        await objects.patch(kind, "default", "a", patch, subresource)
    assert all(400 <= code < 500 for code in codes)
    assert created == before, "an object that was handed out has changed"


async def test_a_caller_keeps_what_it_gave(registry: Registry) -> None:
    objects = MemoryObjects(registry)
    mine = clone(POD_BODY)
    stored = await objects.create(POD, mine)
    assert mine == POD_BODY
    replacement = clone(stored)
    replacement["metadata"]["labels"] = {"a": "b"}
    given_copy = clone(replacement)
    await objects.replace(POD, replacement)
    assert replacement == given_copy


async def test_a_watch_in_the_process_has_no_gap(registry: Registry) -> None:
    objects = MemoryObjects(registry)
    await objects.create(POD, POD_BODY)
    events = objects.watch(POD)
    seen = [await anext(events)]
    await objects.patch(POD, "default", "a", {"metadata": {"labels": {"x": "1"}}})
    await objects.delete(POD, "default", "a")
    seen += [await anext(events) for _ in range(2)]
    assert [event.type for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    await events.aclose()  # type: ignore[attr-defined]


class Webhook:
    """Notes when it is asked, and what it sees."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []

    def mutate(self, operation: str, kind: Kind, old: Object | None, new: Object) -> Object:
        self.asked.append(("mutate", operation, new["spec"].get("maxRetry")))
        new["spec"]["minAvailable"] = 1
        return new

    def validate(self, operation: str, kind: Kind, old: Object | None, new: Object | None) -> None:
        self.asked.append(("validate", operation, new and new["spec"].get("minAvailable")))
        if operation == "DELETE":
            raise ApiError(400, "", 'admission webhook "validatejob.volcano.sh" denied the request: no')


async def test_webhooks_stand_around_the_schema(registry: Registry) -> None:
    webhook = Webhook()
    registry.admission = webhook
    objects = MemoryObjects(registry)
    bad = clone(JOB_BODY)
    bad["spec"]["tasks"] = []
    with pytest.raises(ApiError) as refusal:
        await objects.create(JOB, bad)
    assert refusal.value.code == 422
    assert webhook.asked == [("mutate", "CREATE", 3)]
    webhook.asked.clear()
    created = await objects.create(JOB, JOB_BODY)
    assert created["spec"]["minAvailable"] == 1
    await objects.patch(JOB, "default", "a", {"status": {"running": 1}}, "status")
    assert webhook.asked == [("mutate", "CREATE", 3), ("validate", "CREATE", 1)]
    with pytest.raises(ApiError) as refusal:
        await objects.delete(JOB, "default", "a")
    assert refusal.value.code == 400
