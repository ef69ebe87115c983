"""Group 10: repeated requests, lost answers, and a cluster that is slow, busy or away."""

import asyncio
import json
import time
from typing import Any

import pytest

from app.cluster.kinds import JOB
from app.simulator.faults import Fault
from app.simulator.kinds import JOB as SIMULATED_JOB
from app.simulator.kinds import POD_GROUP
from app.telemetry import REGISTRY
from tests.api.jobs.test_bulk import bulk
from tests.api.jobs.test_import import manifest, send

WEBHOOK = 'Internal error occurred: failed calling webhook "validatejob.volcano.sh": context deadline exceeded'
MANY = 100_000


async def test_i01_same_key_same_body(stage: Any, vision: Any) -> None:
    nlp, made = stage.nlp, stage.body(task={"resources": {"cpu": "1", "memory": "1Gi", "gpus": 1}, "command": ["true"]})
    first = await nlp.accepted(made, Idempotency_Key="k1")
    stage.world.start(retention_seconds=60.0)

    async def repeated(body: dict[str, Any]) -> dict[str, Any]:
        answer = await nlp.submit(body, Idempotency_Key="k1")
        assert (answer.status_code, answer.headers["Idempotency-Replayed"]) == (200, "true")
        assert answer.json()["id"] == first["id"]
        job: dict[str, Any] = answer.json()
        return job

    for _ in range(2):
        await repeated(made)
    await stage.until_state(first["id"], "succeeded")
    assert (await repeated(made))["state"] == "succeeded"
    await repeated(json.loads(json.dumps(made, sort_keys=True)) | {"labels": {}})
    other = await vision.accepted(made, Idempotency_Key="k1")
    assert other["id"] != first["id"]
    await stage.until_state(first["id"], "succeeded")
    assert [job["id"] for job in await nlp.listed()] == [first["id"]]
    for key in ("x" * 300, "a\tb", "a\x7fb"):
        answer = await nlp.client.post("/v1/teams/nlp/jobs", json=made, headers={"Idempotency-Key": key.encode()})
        assert (answer.status_code, answer.json()["type"]) == (422, "validation-error")
    in_cluster = [job for job in await stage.volcano_jobs() if job["metadata"]["namespace"] == "team-nlp"]
    assert len(in_cluster) == 1


async def test_i01_a_key_is_one_job_whichever_way_it_comes(nlp: Any, body: Any) -> None:
    (item,) = (await bulk(nlp, {**body(), "idempotency_key": "k1"}))["items"]
    answer = await nlp.submit(body(), Idempotency_Key="k1")
    assert (answer.status_code, answer.json()["id"]) == (200, item["id"])
    first = await send(nlp, manifest("imported"), Idempotency_Key="k2")
    again = await send(nlp, manifest("imported"), "application/yaml", Idempotency_Key="k2")
    assert (first.status_code, again.status_code, again.json()["id"]) == (201, 200, first.json()["id"])
    assert sorted(await nlp.names()) == ["bulk-score", "imported"]


async def test_i03_create_timed_out_but_worked(stage: Any) -> None:
    stage.world.start()
    stage.create_fails(effect="drop_answer")
    worked = await stage.submit("worked")
    await stage.until_state(worked, "succeeded")
    stage.create_fails(effect="delay_after", seconds=3.0)  # longer than the client waits
    slow = await stage.submit("slow")
    await stage.until_state(slow, "succeeded")
    stage.create_fails(status=504, reason="Timeout", message="the server was unable to complete the request in time")
    never = await stage.submit("never")
    assert (await stage.until_state(never, "succeeded", "failed", "lost"))["attempt"] == 1
    assert len(stage.world.created) == 3
    foreign = {
        "apiVersion": JOB.api_version,
        "kind": "Job",
        "metadata": {"name": "taken", "namespace": "team-nlp", "labels": {"mine": "true"}},
        "spec": {
            "queue": "q-nlp",
            "schedulerName": "volcano",
            "tasks": [
                {
                    "name": "w",
                    "replicas": 1,
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "w", "image": "i", "command": ["sh", "-c", "sleep 100000"]}],
                        }
                    },
                }
            ],
        },
    }
    before = await stage.cluster.objects.create(SIMULATED_JOB, foreign)
    job = await stage.until_state(await stage.submit("taken"), "failed", "succeeded", "lost")
    assert (job["state"], job["reason"]) == ("failed", "NameConflict")
    assert job["counts"] == {"pending": 0, "running": 0, "succeeded": 0, "failed": 0}
    after = await stage.cluster.objects.get(SIMULATED_JOB, "team-nlp", "taken")
    assert (after["metadata"]["uid"], after["metadata"]["labels"]) == (before["metadata"]["uid"], {"mine": "true"})
    assert after["spec"] == before["spec"]
    assert await stage.nlp.used() == 0


async def test_i05_webhook_or_api_server_overloaded(stage: Any) -> None:
    stage.world.start()
    await stage.until_state(await stage.submit("warm"), "succeeded")
    for name, count, fault in (
        ("webhook", 2, {"status": 500, "reason": "InternalError", "message": WEBHOOK}),
        ("busy", 1, {"status": 503, "reason": "ServiceUnavailable", "message": "busy"}),
        ("reset", 1, {"effect": "drop_answer"}),
    ):
        before = stage.writes()
        stage.create_fails(count, **fault)
        job_id = await stage.submit(name)
        job = await stage.until_state(job_id, "succeeded", "failed", "lost")
        assert (job["state"], job["attempt"]) == ("succeeded", 1), name
        assert stage.writes() - before <= count + 1
    assert len(stage.world.created) == 4
    stage.create_fails(status=429, reason="TooManyRequests", message="slow down", retry_after_seconds=3)
    began = time.monotonic()
    await stage.until_state(await stage.submit("throttled"), "succeeded")
    assert time.monotonic() - began >= 3
    assert len(stage.world.created) == 5


async def test_i06_conflict_answers_that_can_be_retried(stage: Any) -> None:
    stage.world.start()
    stage.create_fails(2, status=409, reason="Conflict", message="the object has been modified; please apply")
    conflict = {"status": 409, "reason": "Conflict", "message": "the object has been modified"}
    stage.cluster.faults.add(Fault("answer", method="PATCH", plural=SIMULATED_JOB.plural, count=2, **conflict))
    job_id = await stage.submit("modified")
    ended = await stage.until_state(job_id, "succeeded", "failed", "lost")
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)

    async def is_gone() -> bool:
        return not await stage.volcano_jobs()

    await stage.until(is_gone)  # its finalizer was taken off by a patch
    assert stage.writes(method="PATCH") >= 3
    changed = await stage.submit("changed", "sleep 100000")
    await stage.until_state(changed, "running")
    stage.cluster.faults.add(Fault("answer", method="PATCH", plural=SIMULATED_JOB.plural, count=2, **conflict))
    answer = await stage.nlp.client.patch(f"/v1/jobs/{changed}", json={"labels": {"dataset": "d2"}})
    assert answer.status_code == 200

    async def follows() -> bool:
        return all(job["metadata"]["labels"].get("dataset") == "d2" for job in await stage.volcano_jobs())

    await stage.until(follows)
    assert (await stage.read(changed))["message"] is None
    patched = [status for verb, path, status in stage.cluster.server.requests if verb == "PATCH" and "/jobs/" in path]
    assert 415 not in patched
    assert patched.count(409) == 4
    assert len(stage.world.created) == 2


async def test_i08_slow_cluster_must_not_block_everybody(stage: Any) -> None:
    stage.world.start()
    await stage.until_state(await stage.submit("warm"), "succeeded")
    for method in ("GET", "POST", "PATCH", "DELETE"):
        stage.cluster.faults.add(Fault("delay_before", method=method, seconds=30.0, count=MANY))
    stage.cluster.faults.cut_watches(abrupt=True)

    async def asked(path: str) -> None:
        began = time.monotonic()
        assert (await stage.nlp.client.get(path)).status_code == 200
        assert time.monotonic() - began < 1  # the case says so

    jobs = [stage.submit(f"slow-{number}", gpus=0) for number in range(20)]
    submitting = asyncio.gather(*jobs)
    for _ in range(10):
        for path in ("/healthz", "/v1/jobs"):
            await asked(path)
    ids = await submitting

    async def felt() -> bool:
        return {fault["method"] for fault in stage.cluster.faults.active() if fault["count"] < MANY} >= {"GET", "POST"}

    await stage.until(felt)
    assert {(await stage.read(job_id))["state"] for job_id in ids} <= {"held", "submitting"}
    stage.cluster.faults.clear()
    for job_id in ids:
        job = await stage.until_state(job_id, "succeeded", "failed", "lost")
        assert (job["state"], job["attempt"]) == ("succeeded", 1)
    assert len(stage.world.created) == 21
    names = [job["k8s_name"] for job in [await stage.read(job_id) for job_id in ids]]
    assert len(set(names)) == 20
    assert len(await stage.cluster.objects.list(POD_GROUP)) <= 21


AWAY_SECONDS = 4.0
KINDS = ("jobs", "pods", "podgroups", "queues", "nodes")


async def test_i09_retry_storms_after_an_outage(stage: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """The counts of some seconds; `tests/unit/cluster` has how pauses grow, in virtual time."""
    for _ in range(3):
        stage.world.start()  # one leads
    resources = {"cpu": "100m", "memory": "1Mi"}
    task = {"command": ["sh", "-c", "sleep 40"], "resources": resources}
    made = await bulk(stage.nlp, *(stage.body(name=f"live-{number}", task=task) for number in range(20)))
    ids = [item["id"] for item in made["items"]]
    await stage.until_state(ids[-1], "running")
    lists, requests = _lists(), stage.cluster.server.requests
    capfd.readouterr()
    requests.clear()
    stage.cluster.faults.add(Fault("answer", status=500, reason="InternalError", count=MANY))  # it asks for no pause
    stage.cluster.faults.cut_watches(abrupt=True)
    await _passed(stage, AWAY_SECONDS)
    for kind in KINDS:
        assert 2 <= sum(path.endswith(f"/{kind}") for _, path, _ in requests) <= 25, kind
    said = [line for line in capfd.readouterr().out.splitlines() if "[debug" not in line and "request " not in line]
    assert len(said) < 100
    stage.cluster.faults.clear()
    busy = {"status": 429, "reason": "TooManyRequests", "retry_after_seconds": 1}
    stage.cluster.faults.add(Fault("answer", count=MANY, **busy))
    await _passed(stage, 2.0)
    stage.cluster.faults.clear()
    for job_id in ids:
        job = await stage.until_state(job_id, "succeeded", "failed", "lost")
        assert (job["state"], job["attempt"]) == ("succeeded", 1)
    assert len(stage.world.created) == len(ids)
    assert all(now - before <= 1 for before, now in zip(lists, _lists(), strict=True))


def _lists() -> list[float]:
    kinds = ("Job", "Pod", "PodGroup", "Queue", "Node")
    return [REGISTRY.get_sample_value("pumice_watch_relists_total", {"kind": kind}) or 0.0 for kind in kinds]


async def _passed(stage: Any, seconds: float) -> None:
    until = time.monotonic() + seconds

    async def over() -> bool:
        return time.monotonic() >= until

    await stage.until(over)
