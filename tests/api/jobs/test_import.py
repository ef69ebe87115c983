"""Volcano Jobs as people have them, over HTTP."""

import json
from typing import Any

import pytest

YAML = "application/yaml"


def manifest(name: str = "score", *, gpus: int = 1, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.test/llm:1",
        "command": ["score"],
        "env": [{"name": "MODEL", "value": "m"}],
        "resources": {"requests": {"cpu": "4"}, "limits": {"nvidia.com/gpu": gpus}},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "tasks": [
                {"name": "worker", "replicas": replicas, "template": {"spec": {"containers": [container], **spec}}}
            ]
        },
    }


async def send(member: Any, body: Any, kind: str = "application/json", **headers: str) -> Any:
    content = body if isinstance(body, str | bytes) else json.dumps(body)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return await member.client.post(
        f"/v1/teams/{member.team}/jobs/import", content=content, headers={"Content-Type": kind, **sent}
    )


def documents(*jobs: dict[str, Any]) -> str:
    return "---\n".join(f"{json.dumps(job)}\n" for job in jobs)


def pointers(problem: dict[str, Any]) -> list[str]:
    return [fault["pointer"] for fault in problem["errors"]]


@pytest.mark.parametrize("kind", ["application/json", YAML, "text/yaml", "application/x-yaml; charset=utf-8"])
async def test_one_document_is_answered_as_a_submission(nlp: Any, body: Any, kind: str) -> None:
    same = body(gpus=1, task={"env": {"MODEL": "m"}}, name="score")
    same["tasks"][0]["resources"].pop("memory")
    answer = await send(nlp, manifest(), kind)
    assert answer.status_code == 201, answer.text
    job = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert await nlp.reread(job) == job
    assert await nlp.used() == 1  # GPUs under limits only are counted
    submitted = await nlp.accepted(same | {"name": "submitted"})
    own = {"id", "name", "k8s_name", "created_at", "state_since", "spec"}
    assert {k: v for k, v in job.items() if k not in own} == {k: v for k, v in submitted.items() if k not in own}
    assert job["spec"] == submitted["spec"] | {"name": "score"}
    read = (await nlp.client.get(f"{answer.headers['location']}/manifest")).json()
    resources = read["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": "4", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}


async def test_one_key_makes_one_job_however_it_is_written(nlp: Any) -> None:
    first = await send(nlp, manifest(), Idempotency_Key="k1")
    again = await send(nlp, f"# as yaml\n{json.dumps(manifest(), indent=1)}", YAML, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["id"] == first.json()["id"]
    other = await send(nlp, manifest(gpus=2), Idempotency_Key="k1")
    assert (other.status_code, other.json()["type"]) == (422, "idempotency-key-reused")
    assert await nlp.names() == ["score"]


async def test_refuses_one_document_with_places_in_it(nlp: Any) -> None:
    answer = await send(nlp, manifest(hostNetwork=True, restartPolicy="OnFailure"))
    assert (answer.status_code, answer.json()["type"]) == (422, "validation-error")
    place = "/spec/tasks/0/template/spec"
    assert sorted(pointers(answer.json())) == [f"{place}/hostNetwork", f"{place}/restartPolicy"]
    foreign = manifest() | {"metadata": {"name": "score", "namespace": "team-vision"}}
    assert pointers((await send(nlp, foreign)).json()) == ["/metadata/namespace"]
    own = manifest() | {"metadata": {"name": "score", "namespace": "team-nlp"}}
    assert (await send(nlp, own)).status_code == 201
    assert await nlp.names() == ["score"]


async def test_several_documents_are_decided_in_order_and_each_answered(nlp: Any) -> None:
    jobs = [
        manifest("a", gpus=5),
        manifest("b", hostNetwork=True),
        manifest("c", gpus=4),  # 5 of 8 are taken
        manifest("a"),
        manifest("d", gpus=3),
        manifest("e", gpus=9),
        {"kind": "Job", "apiVersion": "batch/v1"},
    ]
    answer = await send(nlp, documents(*jobs), YAML)
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert [item["status"] for item in made["items"]] == [201, 422, 409, 409, 201, 422, 422]
    kinds = [item["problem"] and item["problem"]["type"] for item in made["items"]]
    assert kinds == [
        *(None, "validation-error", "quota-exceeded", "name-in-use", None, "job-never-fits", "validation-error")
    ]
    assert (made["accepted"], made["replayed"], made["refused"]) == (2, 0, 5)
    assert pointers(made["items"][1]["problem"]) == ["/1/spec/tasks/0/template/spec/hostNetwork"]
    assert pointers(made["items"][6]["problem"]) == ["/6/apiVersion"]
    assert sorted(await nlp.names()) == ["a", "d"]
    assert await nlp.used() == 8


@pytest.mark.parametrize("form", ["array", "List"])
async def test_a_list_of_one_is_answered_as_a_list(nlp: Any, form: str) -> None:
    body = [manifest()] if form == "array" else {"apiVersion": "v1", "kind": "List", "items": [manifest()]}
    answer = await send(nlp, body)
    assert answer.status_code == 200, answer.text
    assert [item["status"] for item in answer.json()["items"]] == [201]
    wrong = [manifest(nodeName="x")] if form == "array" else {"kind": "List", "items": [manifest(nodeName="x")]}
    (item,) = (await send(nlp, wrong)).json()["items"]
    start = "/0" if form == "array" else "/items/0"
    assert pointers(item["problem"]) == [f"{start}/spec/tasks/0/template/spec/nodeName"]


async def test_a_whole_list_can_be_sent_again(nlp: Any) -> None:
    sent = [manifest("a"), manifest("b")]
    first = (await send(nlp, sent, Idempotency_Key="k1")).json()
    again = (await send(nlp, sent, Idempotency_Key="k1")).json()
    assert (first["accepted"], again["replayed"]) == (2, 2)
    assert [item["id"] for item in again["items"]] == [item["id"] for item in first["items"]]
    other = (await send(nlp, [*reversed(sent)], Idempotency_Key="k1")).json()
    assert [item["problem"]["type"] for item in other["items"]] == ["idempotency-key-reused"] * 2
    assert sorted(await nlp.names()) == ["a", "b"]


@pytest.mark.parametrize("several", [False, True])
async def test_a_fraction_of_a_gpu_has_its_own_problem(nlp: Any, several: bool) -> None:
    job = manifest()
    job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "500m"}
    answer = await send(nlp, [job] if several else job)
    problem = answer.json()["items"][0]["problem"] if several else answer.json()
    assert (problem["status"], problem["type"]) == (422, "gpu-not-whole")
    place = "/spec/tasks/0/template/spec/containers/0/resources/limits/nvidia.com~1gpu"
    assert pointers(problem) == [f"/0{place}" if several else place]


@pytest.mark.parametrize(
    ("content", "kind", "status", "problem"),
    [
        ("{", YAML, 400, "invalid-yaml"),
        (b"\xff", YAML, 400, "invalid-yaml"),
        ("{", "application/json", 400, "invalid-json"),
        ('{"a": NaN}', "application/json", 400, "invalid-json"),
        ('{"kind": 1, "kind": 2}', "application/json", 400, "invalid-json"),
        ("a: .nan", YAML, 422, "validation-error"),
        ("kind: a\nkind: b", YAML, 422, "validation-error"),
        ("", YAML, 422, "validation-error"),
        ("# nothing\n---\n", YAML, 422, "validation-error"),
        ("", "application/json", 422, "validation-error"),
        ("[]", "application/json", 422, "validation-error"),
        ("5", "application/json", 422, "validation-error"),
        ("null", "application/json", 422, "validation-error"),
        ("[" + ",".join(["{}"] * 1001) + "]", "application/json", 422, "validation-error"),
        ('{"kind": "List", "items": 5}', "application/json", 422, "validation-error"),
        ('{"kind": "List", "items": [], "x": 1}', "application/json", 422, "validation-error"),
        ("a: 1", "text/plain", 415, "unsupported-media-type"),
        ("a: 1", "", 415, "unsupported-media-type"),
        ("x" * 1_100_000, YAML, 413, "body-too-large"),
    ],
)
async def test_refuses_bodies_that_hold_no_documents(
    nlp: Any, content: Any, kind: str, status: int, problem: str
) -> None:
    answer = await send(nlp, content, kind)
    assert (answer.status_code, answer.json()["type"]) == (status, problem), answer.text
    assert await nlp.names() == []


async def test_other_teams_and_viewers_import_nothing(nlp: Any, vision: Any) -> None:
    viewer = await nlp.api.member("nlp", "viewer")
    path = "/v1/teams/nlp/jobs/import"
    assert (await viewer.post(path, json=manifest())).status_code == 403
    assert (await vision.client.post(path, json=manifest())).status_code == 404
    assert (await nlp.api.admin.post("/v1/teams/nobody/jobs/import", json=manifest())).status_code == 404
    assert (await nlp.api.client(None).post(path, json=manifest())).status_code == 401
    assert await nlp.names() == []


async def test_the_manifest_of_a_job_can_be_imported_but_for_hidden_values(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(body(task={"env": {"MODEL": "m"}}))
    shown = (await nlp.client.get(f"/v1/jobs/{job['id']}/manifest")).json()
    shown["metadata"]["name"] = "again"
    refused = await send(nlp, shown)
    assert pointers(refused.json()) == ["/spec/tasks/0/template/spec/containers/0/env/2/value"]
    shown["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["env"][2]["value"] = "m"
    again = await send(nlp, shown)
    assert again.status_code == 201, again.text
    stored = again.json()["spec"]
    assert stored["tasks"][0].pop("min_available") == 1  # which the manifest says, and the body left out
    job["spec"]["tasks"][0].pop("min_available")
    assert stored == job["spec"] | {"name": "again"}


async def test_no_value_of_a_refused_document_is_repeated(nlp: Any) -> None:
    secret = "s3cr3t-value"
    job = manifest(nodeName=secret, hostNetwork=secret, volumes=[{"name": secret, "hostPath": {"path": secret}}])
    job["metadata"] |= {"namespace": secret, "labels": {"a": f"{secret}!"}, "finalizers": [secret]}
    job["spec"] |= {"priorityClassName": secret, "policies": [{"event": secret, "action": secret}]}
    answer = await send(nlp, job)
    assert answer.status_code == 422
    assert secret not in answer.text
