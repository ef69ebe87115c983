"""Pods: defaults, checks, binding, eviction, deletion."""

from typing import Any

import pytest

GPU = "nvidia.com/gpu"


def pod(name: str = "p", resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/llm:1", "resources": resources or {}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], "schedulerName": "nobody", **spec}}


def binding(node: str, pod: str = "p") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"kind": "Node", "name": node}}


async def test_the_defaults_of_a_pod(api: Any, pods: str) -> None:
    status, created = await api.post(pods, pod(resources={"limits": {"cpu": "1", "memory": "1Gi", GPU: "2"}}))
    assert status == 201
    spec = created["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi", GPU: "2"}
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["priority"] == 0
    assert created["status"]["phase"] == "Pending"
    assert created["status"]["qosClass"] == "Guaranteed"


@pytest.mark.parametrize(
    ("resources", "field"),
    [
        ({"limits": {GPU: "500m"}, "requests": {GPU: "500m"}}, f"spec.containers[0].resources.limits[{GPU}]"),
        ({"requests": {GPU: "1"}}, "spec.containers[0].resources.limits"),
        ({"limits": {GPU: "2"}, "requests": {GPU: "1"}}, "spec.containers[0].resources.requests"),
        ({"limits": {"cpu": "-1"}}, "spec.containers[0].resources.limits[cpu]"),
        ({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}, "spec.containers[0].resources.requests"),
    ],
)
async def test_resources_that_cannot_be_are_422(api: Any, pods: str, resources: dict[str, Any], field: str) -> None:
    status, answer = await api.post(pods, pod(resources=resources))
    assert (status, answer["reason"]) == (422, "Invalid")
    assert field in [cause["field"] for cause in answer["details"]["causes"]]


async def test_a_pod_without_containers_is_422(api: Any, pods: str) -> None:
    status, answer = await api.post(pods, pod(containers=[]))
    assert status == 422
    assert answer["message"] == 'Pod "p" is invalid: spec.containers: Required value'


async def test_a_missing_priority_class_is_403(api: Any, pods: str) -> None:
    status, answer = await api.post(pods, pod(priorityClassName="nowhere"))
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert answer["message"] == 'pods "p" is forbidden: no PriorityClass with name nowhere was found'


async def test_a_priority_class_gives_its_number(api: Any, pods: str) -> None:
    _, created = await api.post(pods, pod(priorityClassName="system-node-critical"))
    assert created["spec"]["priority"] == 2000001000


async def test_binding_assigns_once(api: Any, pods: str) -> None:
    await api.post(pods, pod())
    assert (await api.post(f"{pods}/p/binding", binding("nowhere-1")))[0] == 201
    _, bound = await api.get(f"{pods}/p")
    assert bound["spec"]["nodeName"] == "nowhere-1"
    assert ("PodScheduled", "True") in [(c["type"], c["status"]) for c in bound["status"]["conditions"]]
    status, answer = await api.post(f"{pods}/p/binding", binding("nowhere-2"))
    assert (status, answer["reason"]) == (409, "Conflict")
    assert 'pod p is already assigned to node "nowhere-1"' in answer["message"]
    assert answer["message"].startswith('Operation cannot be fulfilled on pods/binding "p": ')
    assert (await api.post(f"{pods}/missing/binding", binding("nowhere-1", "missing")))[0] == 404


async def test_a_binding_of_another_pod_is_400(api: Any, pods: str) -> None:
    await api.post(pods, pod())
    assert (await api.post(f"{pods}/p/binding", binding("nowhere-1", "other")))[0] == 400
    assert "nodeName" not in (await api.get(f"{pods}/p"))[1]["spec"]


async def test_a_binding_to_nothing_is_500(api: Any, pods: str) -> None:
    await api.post(pods, pod())
    for target in ({"kind": "Node", "name": ""}, {"kind": "Pod", "name": "x"}):
        status, answer = await api.post(f"{pods}/p/binding", {"metadata": {"name": "p"}, "target": target})
        assert status == 500
        assert answer["message"].startswith("target.")


@pytest.mark.parametrize("body", [{"metadata": 1}, {"target": "gpu-1"}, {"target": {"name": 5}}])
async def test_a_broken_binding_is_400(api: Any, pods: str, body: dict[str, Any]) -> None:
    await api.post(pods, pod())
    assert (await api.post(f"{pods}/p/binding", body))[0] == 400


async def test_pods_are_selected_by_node_and_phase(api: Any, pods: str) -> None:
    await api.post(pods, pod())
    await api.post(pods, pod("other"))
    await api.post(f"{pods}/p/binding", binding("nowhere-7"))
    for selector, expected in (("spec.nodeName=nowhere-7", ["p"]), ("spec.nodeName=", ["other"])):
        _, listed = await api.get(pods, fieldSelector=selector)
        assert [item["metadata"]["name"] for item in listed["items"]] == expected
    _, listed = await api.get(pods, fieldSelector="status.phase!=Pending")
    assert listed["items"] == []


async def test_a_pod_without_a_node_goes_at_once(api: Any, pods: str) -> None:
    await api.post(pods, pod())
    status, last = await api.delete(f"{pods}/p")
    assert (status, last["kind"]) == (200, "Pod")
    assert (await api.get(f"{pods}/p"))[0] == 404


async def test_an_eviction_deletes(api: Any, pods: str) -> None:
    await api.post(pods, pod())
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert (await api.post(f"{pods}/p/eviction", eviction))[0] == 201
    assert (await api.get(f"{pods}/p"))[0] == 404


async def test_the_spec_of_a_pod_stays(api: Any, pods: str) -> None:
    await api.post(pods, pod())
    status, answer = await api.merge(f"{pods}/p", {"spec": {"schedulerName": "volcano"}})
    assert status == 422
    assert "pod updates may not change fields other than" in answer["message"]
    status, after = await api.merge(f"{pods}/p", {"metadata": {"annotations": {"a": "b"}}})
    assert status == 200
    assert after["metadata"]["annotations"] == {"a": "b"}
