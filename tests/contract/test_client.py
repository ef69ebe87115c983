"""The client library that the service uses, on the same servers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kubernetes_asyncio import client

GROUP, VERSION, PLURAL = "batch.volcano.sh", "v1alpha1", "jobs"
LIMIT_SECONDS = 15


def job(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/llm:1"}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Job",
        "metadata": {"name": name, "finalizers": ["example.test/recorded"], "labels": {"mine": "yes"}},
        "spec": {"tasks": [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}]},
    }


@pytest.fixture
async def kubernetes(api: Any) -> AsyncIterator[client.ApiClient]:
    configuration = client.Configuration(host=api.url)
    configuration.ssl_ca_cert = api.authority
    authorization = api.session.headers.get("Authorization")
    if authorization:
        configuration.api_key["BearerToken"] = authorization
    async with client.ApiClient(configuration) as kubernetes:
        yield kubernetes


async def test_the_life_of_a_custom_object(kubernetes: client.ApiClient, namespace: str) -> None:
    custom = client.CustomObjectsApi(kubernetes)
    where = {"group": GROUP, "version": VERSION, "namespace": namespace, "plural": PLURAL}
    created = await custom.create_namespaced_custom_object(**where, body=job("a"))
    with pytest.raises(client.ApiException) as refusal:
        await custom.create_namespaced_custom_object(**where, body=job("a"))
    assert refusal.value.status == 409
    listed = await custom.list_namespaced_custom_object(**where, label_selector="mine=yes", limit=10)
    assert [item["metadata"]["uid"] for item in listed["items"]] == [created["metadata"]["uid"]]
    await custom.patch_namespaced_custom_object_status(
        **where, name="a", body={"status": {"running": 1}}, _content_type="application/merge-patch+json"
    )
    options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=created["metadata"]["uid"]))
    held = await custom.delete_namespaced_custom_object(**where, name="a", body=options)
    assert held["metadata"]["deletionTimestamp"]
    operations = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    await custom.patch_namespaced_custom_object(
        **where, name="a", body=operations, _content_type="application/json-patch+json"
    )
    with pytest.raises(client.ApiException) as refusal:
        await custom.get_namespaced_custom_object(**where, name="a")
    assert refusal.value.status == 404


async def test_a_raw_watch(kubernetes: client.ApiClient, namespace: str) -> None:
    custom = client.CustomObjectsApi(kubernetes)
    where = {"group": GROUP, "version": VERSION, "namespace": namespace, "plural": PLURAL}
    listed = await custom.list_namespaced_custom_object(**where)
    answer = await custom.list_namespaced_custom_object(
        **where,
        watch=True,
        resource_version=listed["metadata"]["resourceVersion"],
        timeout_seconds=30,
        allow_watch_bookmarks=True,
        _preload_content=False,
        _request_timeout=(5, 10),
    )
    await custom.create_namespaced_custom_object(**where, body=job("a"))
    async with asyncio.timeout(LIMIT_SECONDS):
        line = await answer.content.readline()
    assert b'"type":"ADDED"' in line
    answer.close()


async def test_models_of_core_kinds(kubernetes: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(kubernetes)
    pod = client.V1Pod(
        metadata=client.V1ObjectMeta(name="p"),
        spec=client.V1PodSpec(
            scheduler_name="nobody", containers=[client.V1Container(name="main", image="registry.test/llm:1")]
        ),
    )
    created = await core.create_namespaced_pod(namespace, pod)
    assert created.metadata.creation_timestamp.tzinfo is not None
    listed = await core.list_namespaced_pod(namespace, field_selector="status.phase=Pending")
    assert [item.metadata.name for item in listed.items] == ["p"]
    target = client.V1ObjectReference(kind="Node", name="nowhere-1")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target)
    await core.create_namespaced_pod_binding("p", namespace, binding, _preload_content=False)
    assert (await core.read_namespaced_pod("p", namespace)).spec.node_name == "nowhere-1"
    assert (await core.list_node()).kind == "NodeList"
