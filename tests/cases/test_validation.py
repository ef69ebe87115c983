"""Group 1: what may not be submitted is refused at its place, and nothing is left behind."""

import json
from typing import Any

import pytest

from tests.api.jobs.test_bulk import bulk
from tests.api.jobs.test_import import manifest, send
from tests.api.test_problems import writes

JSON = {"Content-Type": "application/json"}
MEBIBYTE = 2**20


def places(problem: dict[str, Any]) -> dict[str, str]:
    """The pointers of a validation error with their sentences."""
    return {fault["pointer"]: fault["detail"] for fault in problem["errors"]}


async def refused(nlp: Any, made: dict[str, Any]) -> dict[str, str]:
    """What is wrong with a body, which is the same alone and in bulk."""
    found = places(await nlp.refused(made, 422, "validation-error"))
    (item,) = (await bulk(nlp, made))["items"]
    assert places(item["problem"]) == found
    assert await nlp.names() == []
    assert await nlp.used() == 0
    return found


async def not_imported(nlp: Any, document: Any) -> dict[str, str]:
    """What is wrong with a manifest, of which nothing is left behind."""
    answer = await send(nlp, document)
    assert (answer.status_code, answer.json()["type"]) == (422, "validation-error"), answer.text
    assert await nlp.names() == []
    return places(answer.json())


@pytest.mark.parametrize("replicas", [0, -1])
async def test_v01_zero_or_negative_replica_counts(nlp: Any, body: Any, replicas: int) -> None:
    found = await refused(nlp, body(task={"replicas": replicas}))
    assert set(found) == {"/tasks/0/replicas"}
    assert "at least 1" in found["/tasks/0/replicas"]
    second = {**body()["tasks"][0], "name": "b", "replicas": replicas}
    found = await refused(nlp, body(tasks=[body()["tasks"][0], second]))
    assert set(found) == {"/tasks/1/replicas"}
    for field in ("min_available", "min_success"):
        assert set(await refused(nlp, body(**{field: replicas}))) == {f"/{field}"}
    for array in ({"size": replicas}, {"size": 1, "parallelism": replicas}):
        task = {name: value for name, value in body()["tasks"][0].items() if name != "replicas"} | {"array": array}
        (name,) = [name for name, value in array.items() if value == replicas]
        assert set(await refused(nlp, body(tasks=[task]))) == {f"/tasks/0/array/{name}"}
    assert set(await not_imported(nlp, manifest(replicas=replicas))) == {"/spec/tasks/0/replicas"}


async def test_v03_the_same_name_twice_inside_a_list(nlp: Any, body: Any) -> None:
    found = await refused(nlp, body(tasks=[body()["tasks"][0]] * 2))
    assert set(found) == {"/tasks/1/name"}
    assert '"worker"' in found["/tasks/1/name"]
    document = manifest()
    container = document["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    found = await not_imported(nlp, document)
    (place,) = found
    assert place == "/spec/tasks/0/template/spec/containers/0/env/1/name"
    assert "env/0" in found[place]


async def test_v03_a_key_twice_in_one_object(nlp: Any, body: Any) -> None:
    text = json.dumps(body(task={"env": {"MODEL": "m"}}))
    for once, again in (('"gpus": 1', '"gpus": 8'), ('"MODEL": "m"', '"MODEL": "n"')):
        assert once in text
        twice = text.replace(once, f"{once}, {again}")
        answer = await nlp.client.post("/v1/teams/nlp/jobs", content=twice, headers=JSON)
        assert (answer.status_code, answer.json()["type"]) == (400, "invalid-json")
    once, again = '"nvidia.com/gpu": 1', '"nvidia.com/gpu": 8'
    for kind in ("application/json", "application/yaml"):
        answer = await send(nlp, json.dumps(manifest()).replace(once, f"{once}, {again}"), kind)
        assert answer.status_code in {400, 422}
    assert await nlp.names() == []


async def test_v04_restart_policy_that_makes_a_batch_job_immortal(nlp: Any, body: Any) -> None:
    for policy in ("Always", "never", "OnFailure"):
        assert set(await refused(nlp, body(restart_policy=policy))) == {"/restart_policy"}
        assert set(await refused(nlp, body(task={"restart_policy": policy}))) == {"/tasks/0/restart_policy"}
        found = await not_imported(nlp, manifest(restartPolicy=policy))
        (place,) = found
        assert place == "/spec/tasks/0/template/spec/restartPolicy"
        assert "Never" in found[place]
    job = await nlp.accepted(body())
    shown = (await nlp.client.get(f"/v1/jobs/{job['id']}/manifest")).json()
    assert shown["spec"]["tasks"][0]["template"]["spec"]["restartPolicy"] == "Never"


async def test_v06_misspelt_optional_field_silently_dropped(nlp: Any, body: Any) -> None:
    assert set(await refused(nlp, body(min_availble=3))) == {"/min_availble"}
    resources = {**body()["tasks"][0]["resources"], "limit": {"nvidia.com/gpu": 1}}
    assert set(await refused(nlp, body(task={"resources": resources}))) == {"/tasks/0/resources/limit"}
    assert set(await refused(nlp, body(retries={"maximum": 1}))) == {"/retries/maximum"}
    document = manifest()
    document["spec"]["minAvailble"] = 3
    assert set(await not_imported(nlp, document)) == {"/spec/minAvailble"}
    answer = await nlp.client.get("/v1/jobs", params={"staet": "failed"})
    assert answer.status_code == 422
    assert set(places(answer.json())) == {"/query/staet"}


async def test_v07_nan_and_infinity_in_json(app: Any, nlp: Any) -> None:
    texts = ('"replicas": NaN', '"replicas": -Infinity', '"priority": 1e400', '"annotations": {"x": NaN}')
    for method, path in writes(app):
        for text in texts:
            answer = await nlp.api.admin.request(method, path, content="{" + text + "}", headers=JSON)
            assert answer.status_code in {400, 422}, (method, path, text)
            json.loads(answer.content, parse_constant=pytest.fail)
    assert await nlp.names() == []


async def test_v09_manifests_too_large_for_etcd(nlp: Any, body: Any) -> None:
    await nlp.accepted(body(name="largest", annotations={"k": "x" * (262_144 - 1)}))
    over = await nlp.refused(body(annotations={"k": "x" * 262_144}), 422, "validation-error")
    assert set(places(over)) == {"/annotations"}
    assert "262144" in places(over)["/annotations"]
    prompts = await nlp.refused(body(task={"args": ["x" * 1_000_000]}), 422, "validation-error")
    assert "storage" in prompts["errors"][0]["detail"]
    prompts = await nlp.refused(body(task={"command": ["x" * 2 * MEBIBYTE]}), 413, "body-too-large")
    assert prompts["limit"] == MEBIBYTE
    assert str(MEBIBYTE) in prompts["detail"]
    assert await nlp.names() == ["largest"]


async def test_v09_a_body_of_50_mebibytes_is_not_read(nlp: Any) -> None:
    chunk, sent = b"x" * 65_536, 0

    async def chunks() -> Any:
        nonlocal sent
        for _ in range(800):
            sent += len(chunk)
            yield chunk

    for path in ("jobs", "jobs/bulk", "jobs/import"):
        for headers in (JSON, {**JSON, "Content-Length": str(50 * MEBIBYTE)}):
            sent = 0
            answer = await nlp.client.post(f"/v1/teams/nlp/{path}", content=chunks(), headers=headers)
            assert (answer.status_code, answer.json()["type"]) == (413, "body-too-large")
            assert sent <= answer.json()["limit"] + 2 * len(chunk)


async def test_v09_many_small_tasks(nlp: Any, body: Any) -> None:
    def wide(number: int) -> dict[str, Any]:
        return body(tasks=[{**body(gpus=0)["tasks"][0], "name": f"t{index}"} for index in range(number)])

    for number in (101, 200):
        found = await refused(nlp, wide(number))
        assert set(found) == {"/tasks"}
        assert "100" in found["/tasks"]
    await nlp.accepted(wide(100))


async def test_v10_lifecycle_policies_volcano_would_refuse(nlp: Any, body: Any) -> None:
    restart = {"event": "PodFailed", "action": "RestartJob"}
    for policies, place in (
        ([{"event": "PodFailed", "action": "Restart"}], "policies/0/action"),
        ([{"exitCode": 0, "action": "RestartJob"}], "policies/0/exitCode"),
        ([{"event": "PodFailed", "exitCode": 3, "action": "RestartJob"}], "policies/0"),
        ([{"event": "*", "action": "RestartJob"}, restart], "policies/0"),
        ([restart, restart], "policies/1"),
    ):
        assert set(await refused(nlp, body(policies=policies))) == {"/policies"}
        document = manifest()
        document["spec"]["policies"] = policies
        found = await not_imported(nlp, document)
        assert set(found) == {f"/spec/{place}"}


async def test_v10_our_own_rules_name_what_they_allow(nlp: Any, body: Any) -> None:
    rule = {"exit_codes": [3], "action": "Restart"}
    found = await refused(nlp, body(retries={"max": 1, "on": [rule]}))
    assert set(found) == {"/retries/on/0/action"}
    assert all(action in found["/retries/on/0/action"] for action in ("restart_task", "restart_job", "fail"))
    found = await refused(nlp, body(retries={"max": 1, "on": [{**rule, "action": "fail", "exit_codes": [0]}]}))
    assert set(found) == {"/retries/on/0/exit_codes/0"}


async def test_v11_admission_webhooks_own_reason(stage: Any) -> None:
    words = 'admission webhook "validatejob.volcano.sh" denied the request: containers[0].name: Required value.'
    refused = []
    stage.world.start()
    for status, reason in ((400, "BadRequest"), (403, "Forbidden"), (422, "Invalid")):
        stage.create_fails(status=status, reason=reason, message=words)
        refused.append(await stage.until_state(await stage.submit(f"refused-{status}"), "failed"))
    await stage.until_state(await stage.submit("taken"), "succeeded")
    assert {(job["reason"], job["message"]) for job in refused} == {("RejectedByCluster", words)}
    assert await stage.nlp.used() == 0
    assert stage.writes() == 4  # one for each: what was refused was not tried again
    assert [await stage.read(job["id"]) for job in refused] == refused
