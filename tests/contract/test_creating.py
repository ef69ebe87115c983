"""POST, and what every request may be refused for."""

import json
from typing import Any

import pytest


def job(name: str | None = "a", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/llm:1"}
    tasks = [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}]
    metadata = {"name": name} if name else {}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"tasks": tasks, **spec},
    }


async def test_a_new_object_gets_its_metadata(api: Any, jobs: str) -> None:
    status, created = await api.post(jobs, job())
    assert status == 201
    metadata = created["metadata"]
    assert metadata["generation"] == 1
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert (await api.get(f"{jobs}/a"))[1] == created


async def test_a_second_create_is_already_exists(api: Any, jobs: str) -> None:
    await api.post(jobs, job())
    status, body = await api.post(jobs, job())
    assert status == 409
    assert body["reason"] == "AlreadyExists"
    assert body["message"] == 'jobs.batch.volcano.sh "a" already exists'
    assert body["details"] == {"name": "a", "group": "batch.volcano.sh", "kind": "jobs"}


async def test_generate_name_gives_different_names(api: Any, config_maps: str) -> None:
    names = set()
    for _ in range(3):
        status, created = await api.post(config_maps, {"metadata": {"generateName": "part-"}})
        assert status == 201
        names.add(created["metadata"]["name"])
    assert len(names) == 3
    assert all(name.startswith("part-") and len(name) == 10 for name in names)


async def test_dry_run_checks_and_stores_nothing(api: Any, jobs: str) -> None:
    status, created = await api.post(jobs, job(), dryRun="All")
    assert status == 201
    assert created["metadata"]["uid"]
    assert (await api.get(f"{jobs}/a"))[0] == 404
    assert (await api.post(jobs, job(maxRetry=-1), dryRun="All"))[0] == 422
    await api.post(jobs, job())
    assert (await api.post(jobs, job(), dryRun="All"))[0] == 409


async def test_a_missing_namespace_is_404(api: Any) -> None:
    status, body = await api.post("/apis/batch.volcano.sh/v1alpha1/namespaces/nowhere-at-all/jobs", job())
    assert status == 404
    assert body["message"] == 'namespaces "nowhere-at-all" not found'


async def test_a_missing_object_is_404(api: Any, jobs: str) -> None:
    status, body = await api.get(f"{jobs}/nope")
    assert status == 404
    assert body["kind"] == "Status"
    assert body["status"] == "Failure"
    assert body["reason"] == "NotFound"
    assert body["message"] == 'jobs.batch.volcano.sh "nope" not found'
    assert body["details"] == {"name": "nope", "group": "batch.volcano.sh", "kind": "jobs"}
    assert body["code"] == 404


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"text"', b'{"kind": "Pod", "apiVersion": "v1"}'])
async def test_a_body_that_is_no_such_object_is_400(api: Any, config_maps: str, body: bytes) -> None:
    status, answer = await api.post(config_maps, body)
    assert status == 400
    assert answer["kind"] == "Status"
    assert "ConfigMap" in answer["message"]


async def test_a_yaml_body_is_understood(api: Any, config_maps: str) -> None:
    text = b"metadata:\n  name: of-yaml\ndata:\n  a: b\n"
    status, created = await api.call("POST", config_maps, text, "application/yaml")
    assert status == 201
    assert created["data"] == {"a": "b"}


async def test_a_body_above_three_mebibytes_is_413(api: Any, config_maps: str) -> None:
    body = json.dumps({"metadata": {"name": "large"}, "data": {"a": "x" * (3 * 1024 * 1024)}}).encode()
    status, answer = await api.post(config_maps, body)
    assert status == 413
    assert answer["reason"] == "RequestEntityTooLarge"


async def test_an_unknown_content_type_is_415(api: Any, config_maps: str) -> None:
    status, answer = await api.call("POST", config_maps, b"a=b", "application/x-www-form-urlencoded")
    assert status == 415
    assert answer["reason"] == "UnsupportedMediaType"


@pytest.mark.parametrize(
    "path", ["/apis/batch.volcano.sh/v1alpha1/nothings", "/apis/nobody.test/v1/things", "/nowhere"]
)
async def test_an_unknown_path_is_404(api: Any, path: str) -> None:
    assert (await api.get(path))[0] == 404


async def test_an_unknown_method_is_405(api: Any, config_maps: str) -> None:
    status, answer = await api.put(config_maps, {"metadata": {"name": "a"}})
    assert (status, answer["reason"]) == (405, "MethodNotAllowed")


async def test_a_custom_resource_is_written_by_its_name(api: Any, jobs: str) -> None:
    status, answer = await api.put(jobs, job())
    assert (status, answer["reason"], answer["message"]) == (400, "BadRequest", "name must be provided")
    status, answer = await api.post(f"{jobs}/a/status", job())
    assert (status, answer["reason"]) == (405, "MethodNotAllowed")
    status, _ = await api.post("/apis/batch.volcano.sh/v1alpha1/jobs", job())
    assert status == 404


@pytest.mark.parametrize("missing", ["kind", "apiVersion"])
async def test_a_custom_resource_says_what_it_is(api: Any, jobs: str, missing: str) -> None:
    body = {field: value for field, value in job().items() if field != missing}
    status, answer = await api.post(jobs, body)
    assert (status, answer["reason"]) == (400, "BadRequest")
    text = "Object 'Kind' is missing in '{" if missing == "kind" else "The API version in the data ()"
    assert text.lower() in answer["message"].lower()


async def test_a_custom_resource_of_another_kind_is_422(api: Any, jobs: str) -> None:
    status, answer = await api.post(jobs, {**job(), "kind": "Queue"})
    assert (status, answer["reason"]) == (422, "Invalid")
    assert 'kind: Invalid value: "Queue": must be Job' in answer["message"]
    assert (await api.post(jobs, {**job(), "apiVersion": "batch/v1"}))[0] == 400


async def test_a_core_object_may_leave_out_what_it_is(api: Any, config_maps: str) -> None:
    status, created = await api.post(config_maps, {"metadata": {"name": "a"}})
    assert (status, created["kind"], created["apiVersion"]) == (201, "ConfigMap", "v1")


async def test_a_new_object_has_no_version(api: Any, config_maps: str) -> None:
    status, answer = await api.post(config_maps, {"metadata": {"name": "a", "resourceVersion": "5"}})
    assert (status, answer["message"]) == (500, "resourceVersion should not be set on objects to be created")


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"a b": "c"}}, "metadata.labels"),
        ({"labels": {"a": "c d"}}, "metadata.labels"),
        ({"labels": {"a/b/c": "d"}}, "metadata.labels"),
        ({"labels": {"a": "x" * 64}}, "metadata.labels"),
        ({"annotations": {"a b": "c"}}, "metadata.annotations"),
        ({"finalizers": ["bad one/x"]}, "metadata.finalizers"),
        ({"ownerReferences": [{"name": "x"}]}, "metadata.ownerReferences.uid"),
    ],
)
async def test_metadata_that_cannot_be_is_422(
    api: Any, jobs: str, config_maps: str, metadata: dict[str, Any], field: str
) -> None:
    for path, body in ((jobs, job()), (config_maps, {})):
        status, answer = await api.post(path, {**body, "metadata": {"name": "a", **metadata}})
        assert (status, answer["reason"]) == (422, "Invalid")
        assert field in [cause["field"] for cause in answer["details"]["causes"]]


async def test_only_custom_resources_take_finalizers_without_a_domain(api: Any, jobs: str, config_maps: str) -> None:
    metadata = {"name": "a", "finalizers": ["recorded"]}
    assert (await api.post(config_maps, {"metadata": metadata}))[0] == 422
    assert (await api.post(jobs, {**job(), "metadata": metadata}))[0] == 201
    assert (await api.merge(f"{jobs}/a", {"metadata": {"finalizers": None}}))[0] == 200


@pytest.mark.parametrize("query", [{"dryRun": "Some"}, {"fieldValidation": "Sometimes"}])
async def test_a_parameter_of_a_write_that_is_unknown_is_422(api: Any, config_maps: str, query: dict[str, str]) -> None:
    status, answer = await api.post(config_maps, {"metadata": {"name": "a"}}, **query)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["details"]["kind"] == "CreateOptions"
    assert (await api.get(f"{config_maps}/a"))[0] == 404


async def test_a_name_that_is_no_subdomain_is_422(api: Any, config_maps: str) -> None:
    status, answer = await api.post(config_maps, {"metadata": {"name": "Not_A_Name"}})
    assert status == 422
    assert answer["reason"] == "Invalid"
    assert answer["details"]["causes"][0]["field"] == "metadata.name"
    assert answer["message"].startswith('ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name"')


async def test_a_missing_name_is_422(api: Any, config_maps: str) -> None:
    status, answer = await api.post(config_maps, {"metadata": {}})
    assert status == 422
    assert "name or generateName is required" in answer["message"]


async def test_the_server_says_who_it_is(api: Any) -> None:
    status, version = await api.get("/version")
    assert status == 200
    assert version["gitVersion"].startswith("v1.")
    for path in ("/healthz", "/livez", "/readyz"):
        assert await api.get(path) == (200, "ok")


async def test_discovery_names_the_kinds(api: Any) -> None:
    _, groups = await api.get("/apis")
    assert {"batch.volcano.sh", "scheduling.volcano.sh", "bus.volcano.sh"} <= {g["name"] for g in groups["groups"]}
    _, resources = await api.get("/apis/scheduling.volcano.sh/v1beta1")
    names = {resource["name"] for resource in resources["resources"]}
    assert {"queues", "queues/status", "podgroups"} <= names
    assert "podgroups/status" not in names
