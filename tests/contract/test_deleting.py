"""DELETE: preconditions, finalizers, propagation, garbage collection, namespaces."""

from typing import Any

import pytest

FINALIZER = "example.test/recorded"
JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}


def job(name: str = "a", **metadata: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/llm:1"}
    tasks = [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}]
    return {**JOB, "metadata": {"name": name, **metadata}, "spec": {"tasks": tasks}}


def owned_by(owner: dict[str, Any], *, block: bool = True) -> list[dict[str, Any]]:
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    return [
        {
            **reference,
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
    ]


def is_gone(status: int, _: Any) -> bool:
    return status == 404


def is_being_deleted(_: int, obj: dict[str, Any]) -> bool:
    return "deletionTimestamp" in obj["metadata"]


async def test_a_delete_says_what_it_deleted(api: Any, jobs: str) -> None:
    _, created = await api.post(jobs, job())
    status, answer = await api.delete(f"{jobs}/a")
    assert status == 200
    assert answer["status"] == "Success"
    uid = created["metadata"]["uid"]
    assert answer["details"] == {"name": "a", "group": "batch.volcano.sh", "kind": "jobs", "uid": uid}
    assert (await api.delete(f"{jobs}/a"))[0] == 404


async def test_the_uid_is_a_precondition(api: Any, jobs: str) -> None:
    _, created = await api.post(jobs, job())
    other = {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}
    status, answer = await api.delete(f"{jobs}/a", other)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert answer["message"].startswith('Operation cannot be fulfilled on Job.batch.volcano.sh "a": the UID in the ')
    status, _ = await api.delete(f"{jobs}/a", {"preconditions": {"uid": created["metadata"]["uid"]}})
    assert status == 200


async def test_the_version_is_a_precondition(api: Any, config_maps: str) -> None:
    _, created = await api.post(config_maps, {"metadata": {"name": "a"}})
    await api.merge(f"{config_maps}/a", {"data": {"k": "1"}})
    stale = {"preconditions": {"resourceVersion": created["metadata"]["resourceVersion"]}}
    status, answer = await api.delete(f"{config_maps}/a", stale)
    assert (status, answer["reason"]) == (409, "Conflict")


async def test_a_finalizer_holds_the_object(api: Any, jobs: str) -> None:
    _, created = await api.post(jobs, job(finalizers=[FINALIZER]))
    status, held = await api.delete(f"{jobs}/a")
    assert status == 200
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert held["metadata"]["generation"] == created["metadata"]["generation"] + 1
    status, answer = await api.merge(f"{jobs}/a", {"metadata": {"finalizers": [FINALIZER, "example.test/late"]}})
    assert status == 422
    assert "no new finalizers can be added if the object is being deleted" in answer["message"]
    _, again = await api.delete(f"{jobs}/a")
    assert again["metadata"]["resourceVersion"] == held["metadata"]["resourceVersion"]
    status, last = await api.merge(f"{jobs}/a", {"metadata": {"finalizers": []}})
    assert status == 200
    assert "finalizers" not in last["metadata"]
    assert (await api.get(f"{jobs}/a"))[0] == 404


async def test_a_finalizer_goes_by_json_patch_too(api: Any, jobs: str) -> None:
    await api.post(jobs, job(finalizers=[FINALIZER]))
    await api.delete(f"{jobs}/a")
    operations = [
        {"op": "test", "path": "/metadata/finalizers/0", "value": FINALIZER},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]
    status, _ = await api.call("PATCH", f"{jobs}/a", operations, "application/json-patch+json")
    assert status == 200
    assert (await api.get(f"{jobs}/a"))[0] == 404


async def test_a_dry_run_deletes_nothing(api: Any, jobs: str) -> None:
    await api.post(jobs, job())
    assert (await api.delete(f"{jobs}/a", dryRun="All"))[0] == 200
    assert (await api.get(f"{jobs}/a"))[0] == 200


@pytest.mark.parametrize(
    "options",
    [
        {"propagationPolicy": "Sideways"},
        {"dryRun": ["Some"]},
        {"orphanDependents": True, "propagationPolicy": "Background"},
    ],
)
async def test_options_that_cannot_be_are_422(api: Any, jobs: str, options: dict[str, Any]) -> None:
    await api.post(jobs, job())
    status, answer = await api.delete(f"{jobs}/a", options)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["details"]["kind"] == "DeleteOptions"
    assert (await api.get(f"{jobs}/a"))[0] == 200


@pytest.mark.parametrize("options", [{"gracePeriodSeconds": "x"}, {"kind": "Pod", "apiVersion": "v1"}])
async def test_options_that_cannot_be_read_are_400(api: Any, jobs: str, options: dict[str, Any]) -> None:
    await api.post(jobs, job())
    assert (await api.delete(f"{jobs}/a", options))[0] == 400
    assert (await api.delete(f"{jobs}/a?gracePeriodSeconds=x"))[0] == 400


async def test_dependents_go_after_their_owner(api: Any, jobs: str, config_maps: str) -> None:
    _, owner = await api.post(jobs, job(finalizers=[FINALIZER]))
    await api.post(config_maps, {"metadata": {"name": "child", "ownerReferences": owned_by(owner)}})
    await api.delete(f"{jobs}/a", {"propagationPolicy": "Background"})
    marker = {"metadata": {"name": "marker", "ownerReferences": owned_by({**owner, "metadata": gone(owner)})}}
    await api.post(config_maps, marker)
    await api.until(f"{config_maps}/marker", is_gone)  # the collector has worked, and left the held owner's child alone
    assert (await api.get(f"{config_maps}/child"))[0] == 200
    await api.merge(f"{jobs}/a", {"metadata": {"finalizers": []}})
    await api.until(f"{config_maps}/child", is_gone)


def gone(owner: dict[str, Any]) -> dict[str, Any]:
    return {**owner["metadata"], "uid": "11111111-2222-3333-4444-555555555555"}


async def test_foreground_deletes_dependents_first(api: Any, jobs: str, config_maps: str) -> None:
    _, owner = await api.post(jobs, job())
    child = {"metadata": {"name": "child", "ownerReferences": owned_by(owner), "finalizers": [FINALIZER]}}
    await api.post(config_maps, child)
    status, held = await api.delete(f"{jobs}/a", {"propagationPolicy": "Foreground"})
    assert status == 200
    assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    await api.until(f"{config_maps}/child", is_being_deleted)
    assert (await api.get(f"{jobs}/a"))[0] == 200
    await api.merge(f"{config_maps}/child", {"metadata": {"finalizers": []}})
    await api.until(f"{jobs}/a", is_gone)
    assert (await api.get(f"{config_maps}/child"))[0] == 404


async def test_orphans_stay(api: Any, jobs: str, config_maps: str) -> None:
    _, owner = await api.post(jobs, job())
    await api.post(config_maps, {"metadata": {"name": "child", "ownerReferences": owned_by(owner)}})
    await api.delete(f"{jobs}/a", {"propagationPolicy": "Orphan"})
    await api.until(f"{jobs}/a", is_gone)
    status, child = await api.get(f"{config_maps}/child")
    assert status == 200
    assert "ownerReferences" not in child["metadata"]


async def test_a_collection_is_deleted_by_labels(api: Any, config_maps: str) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        await api.post(config_maps, {"metadata": {"name": name, "labels": {"colour": colour}}})
    status, _ = await api.delete(config_maps, labelSelector="colour=red")
    assert status == 200
    _, left = await api.get(config_maps, labelSelector="colour")
    assert [item["metadata"]["name"] for item in left["items"]] == ["b"]


async def test_a_namespace_goes_with_its_content(api: Any, namespace: str, jobs: str) -> None:
    await api.post(jobs, job(finalizers=[FINALIZER]))
    status, held = await api.delete(f"/api/v1/namespaces/{namespace}")
    assert status == 200
    assert held["status"]["phase"] == "Terminating"
    assert "deletionGracePeriodSeconds" not in held["metadata"]
    status, answer = await api.post(jobs, job("late"))
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert "because it is being terminated" in answer["message"]
    assert [cause["reason"] for cause in answer["details"]["causes"]] == ["NamespaceTerminating"]
    await api.until(f"{jobs}/a", is_being_deleted)
    assert (await api.get(f"/api/v1/namespaces/{namespace}"))[0] == 200
    await api.merge(f"{jobs}/a", {"metadata": {"finalizers": []}})
    await api.until(f"/api/v1/namespaces/{namespace}", is_gone)
