"""PUT and PATCH: versions, the status subresource, patch formats."""

from typing import Any

import pytest

POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1"
JSON_PATCH = "application/json-patch+json"
JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
STRATEGIC = "application/strategic-merge-patch+json"


def job(**metadata: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/llm:1"}
    tasks = [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}]
    return {**JOB, "metadata": {"name": "a", **metadata}, "spec": {"tasks": tasks}}


async def test_a_stale_version_is_a_conflict(api: Any, config_maps: str) -> None:
    _, first = await api.post(config_maps, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    status, second = await api.put(f"{config_maps}/a", {**first, "data": {"k": "2"}})
    assert status == 200
    assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    status, answer = await api.put(f"{config_maps}/a", {**first, "data": {"k": "3"}})
    assert status == 409
    assert answer["reason"] == "Conflict"
    assert answer["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert (await api.get(f"{config_maps}/a"))[1]["data"] == {"k": "2"}


async def test_a_stale_version_in_a_patch_is_a_conflict(api: Any, jobs: str) -> None:
    _, created = await api.post(jobs, job())
    await api.merge(f"{jobs}/a", {"metadata": {"labels": {"x": "1"}}})
    version = created["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version, "labels": {"x": "2"}}}
    status, answer = await api.merge(f"{jobs}/a", patch)
    assert (status, answer["reason"]) == (409, "Conflict")


async def test_a_patch_for_another_uid_changes_nothing(api: Any, jobs: str) -> None:
    _, created = await api.post(jobs, job(labels={"x": "1"}))
    other = "00000000-0000-4000-8000-000000000000"
    status, answer = await api.merge(f"{jobs}/a", {"metadata": {"uid": other, "labels": {"x": "2"}}})
    assert (status, answer["reason"]) == (422, "Invalid")
    assert (await api.get(f"{jobs}/a"))[1]["metadata"]["labels"] == {"x": "1"}
    patch = {"metadata": {"uid": created["metadata"]["uid"], "labels": {"x": "2"}}}
    assert (await api.merge(f"{jobs}/a", patch))[0] == 200


async def test_a_custom_resource_is_not_replaced_without_a_version(api: Any, jobs: str) -> None:
    await api.post(jobs, job())
    status, answer = await api.put(f"{jobs}/a", job())
    assert status == 422
    cause = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    assert answer["message"] == f'jobs.batch.volcano.sh "a" is invalid: {cause}'
    assert (await api.put(f"{jobs}/missing", {**job(), "metadata": {"name": "missing"}}))[0] == 404


async def test_another_name_in_the_body_is_400(api: Any, config_maps: str) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}})
    for body in ({"metadata": {"name": "b"}}, {"metadata": {}}, {"metadata": {"name": "a", "namespace": "other"}}):
        assert (await api.put(f"{config_maps}/a", body))[0] == 400
    for patch in ({"name": "b"}, {"name": None}, {"namespace": "other"}):
        assert (await api.merge(f"{config_maps}/a", {"metadata": patch}))[0] == 400
    assert (await api.get(f"{config_maps}/a"))[0] == 200


async def test_the_object_and_its_status_are_written_apart(api: Any, jobs: str) -> None:
    status, created = await api.post(jobs, {**job(), "status": {"running": 7}})
    assert status == 201
    assert "status" not in created
    _, after = await api.merge(f"{jobs}/a", {"status": {"running": 7}, "metadata": {"labels": {"x": "1"}}})
    assert "status" not in after
    assert after["metadata"]["labels"] == {"x": "1"}
    patch = {"status": {"running": 3}, "spec": {"minAvailable": 9}, "metadata": {"labels": {"x": "2"}}}
    status, after = await api.merge(f"{jobs}/a/status", patch)
    assert status == 200
    assert after["status"] == {"running": 3}
    assert after["spec"] == created["spec"]
    assert after["metadata"]["labels"] == {"x": "1"}
    assert after["metadata"]["generation"] == 1
    _, after = await api.merge(f"{jobs}/a", {"spec": {"minAvailable": 1}})
    assert after["status"] == {"running": 3}
    assert after["metadata"]["generation"] == 2


async def test_pod_groups_have_no_status_subresource(api: Any, namespace: str) -> None:
    path = f"{POD_GROUPS}/namespaces/{namespace}/podgroups"
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}
    status, created = await api.post(path, {**group, "spec": {"minMember": 1}})
    assert status == 201
    assert (await api.merge(f"{path}/g/status", {"status": {"phase": "Running"}}))[0] == 404
    status, after = await api.put(f"{path}/g", {**created, "status": {"phase": "Inqueue"}})
    assert status == 200
    assert after["status"]["phase"] == "Inqueue"
    assert after["metadata"]["generation"] == 2


async def test_a_merge_patch_sets_and_removes(api: Any, config_maps: str) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}, "data": {"keep": "1", "drop": "1"}})
    _, after = await api.merge(f"{config_maps}/a", {"data": {"drop": None, "new": "2"}})
    assert after["data"] == {"keep": "1", "new": "2"}


async def test_a_json_patch(api: Any, config_maps: str) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    operations = [{"op": "test", "path": "/data/k", "value": "1"}, {"op": "add", "path": "/data/n", "value": "2"}]
    status, after = await api.call("PATCH", f"{config_maps}/a", operations, JSON_PATCH)
    assert status == 200
    assert after["data"] == {"k": "1", "n": "2"}


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "test", "path": "/data/k", "value": "other"}],
        [{"op": "remove", "path": "/data/missing"}],
        [{"op": "unknown", "path": "/data/k"}],
        [{"path": "/data/k"}],
        [{"op": "replace", "path": "/metadata", "value": 5}],
        [{"op": "replace", "path": "", "value": 5}],
        [{"op": "replace", "path": "/nothing/at/all", "value": 1}],
    ],
)
async def test_a_json_patch_that_does_not_apply_is_422(
    api: Any, config_maps: str, operations: list[dict[str, Any]]
) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    status, answer = await api.call("PATCH", f"{config_maps}/a", operations, JSON_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert (await api.get(f"{config_maps}/a"))[1]["data"] == {"k": "1"}


async def test_custom_resources_take_no_strategic_merge(api: Any, jobs: str) -> None:
    await api.post(jobs, job())
    status, answer = await api.call("PATCH", f"{jobs}/a", {"metadata": {"labels": {"x": "1"}}}, STRATEGIC)
    assert (status, answer["reason"]) == (415, "UnsupportedMediaType")


async def test_a_strategic_merge_patch_merges_lists_by_their_key(api: Any, pods: str) -> None:
    containers = [{"name": "a", "image": "x:1"}, {"name": "b", "image": "x:1"}]
    await api.post(pods, {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    patch = {"spec": {"containers": [{"name": "b", "image": "x:2"}]}}
    status, after = await api.call("PATCH", f"{pods}/p", patch, STRATEGIC)
    assert status == 200
    assert [(c["name"], c["image"]) for c in after["spec"]["containers"]] == [("a", "x:1"), ("b", "x:2")]


async def test_an_unknown_patch_format_is_415(api: Any, config_maps: str) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}})
    assert (await api.call("PATCH", f"{config_maps}/a", {}, "application/json"))[0] == 415


async def test_a_write_that_changes_nothing_keeps_the_version(api: Any, config_maps: str) -> None:
    _, created = await api.post(config_maps, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    _, after = await api.merge(f"{config_maps}/a", {"data": {"k": "1"}})
    assert after["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_a_dry_run_update_stores_nothing(api: Any, config_maps: str) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    _, shown = await api.merge(f"{config_maps}/a", {"data": {"k": "2"}}, dryRun="All")
    assert shown["data"] == {"k": "2"}
    assert (await api.get(f"{config_maps}/a"))[1]["data"] == {"k": "1"}


async def test_uid_and_creation_time_cannot_be_changed(api: Any, config_maps: str) -> None:
    _, created = await api.post(config_maps, {"metadata": {"name": "a"}})
    _, after = await api.merge(f"{config_maps}/a", {"metadata": {"creationTimestamp": None, "labels": {"x": "1"}}})
    for field in ("uid", "creationTimestamp"):
        assert after["metadata"][field] == created["metadata"][field]
    other = {"metadata": {"name": "a", "uid": "11111111-2222-3333-4444-555555555555"}}
    status, answer = await api.put(f"{config_maps}/a", other)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert "Precondition failed: UID in precondition" in answer["message"]
    status, answer = await api.merge(f"{config_maps}/a", other)  # a patch states no precondition: it changes a field
    assert (status, answer["reason"]) == (422, "Invalid")
    assert "metadata.uid: Invalid value" in answer["message"]
    status, _ = await api.merge(f"{config_maps}/a", {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}})
    assert status == 422


async def test_a_version_that_is_no_number_is_500(api: Any, config_maps: str) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}})
    status, answer = await api.put(f"{config_maps}/a", {"metadata": {"name": "a", "resourceVersion": "x"}})
    assert status == 500
    assert "reason" not in answer


@pytest.mark.parametrize("patch", [{"kind": "Queue"}, {"kind": None}])
async def test_a_patch_cannot_change_the_kind(api: Any, jobs: str, patch: dict[str, Any]) -> None:
    await api.post(jobs, job())
    status, answer = await api.merge(f"{jobs}/a", patch)
    assert (status, answer["reason"]) == (422, "Invalid")


@pytest.mark.parametrize("patch", [{"data": 5}, {"data": {"k": 5}}, {"data": {"bad key": "x"}}, {"kind": "Pod"}])
async def test_a_patch_that_leaves_no_such_object_is_422(api: Any, config_maps: str, patch: dict[str, Any]) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    status, answer = await api.merge(f"{config_maps}/a", patch)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert (await api.get(f"{config_maps}/a"))[1]["data"] == {"k": "1"}


@pytest.mark.parametrize(
    ("patch", "content_type"),
    [
        (b"{", "application/merge-patch+json"),
        (b"[]", "application/merge-patch+json"),
        (b"{}", JSON_PATCH),
        (b"[1]", JSON_PATCH),
    ],
)
async def test_a_patch_that_is_none_is_400(api: Any, config_maps: str, patch: bytes, content_type: str) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}})
    status, answer = await api.call("PATCH", f"{config_maps}/a", patch, content_type)
    assert status == 400
    assert answer["message"].startswith("error decoding patch: ")
