from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from app.db import Sessions
from app.queues.models import QueueRow
from app.telemetry import REGISTRY


async def test_accepts_a_job_and_says_where_it_is(nlp: Any, body: Any) -> None:
    answer = await nlp.submit(body(labels={"dataset": "d1"}))
    job = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}"
    assert job == {
        "id": job["id"],
        "name": "bulk-score",
        "team": "nlp",
        "queue": "q-nlp",
        "priority": "normal",
        "state": "held",
        "reason": "WaitingForRelease",
        "message": None,
        "counts": {"pending": 0, "running": 0, "succeeded": 0, "failed": 0},
        "attempt": 0,
        "resources": {"nvidia.com/gpu": "1"},
        "labels": {"dataset": "d1"},
        "submitted_by": "u-nlp",
        "k8s_namespace": "team-nlp",
        "k8s_name": "bulk-score",
        "created_at": job["created_at"],
        "submitted_at": None,
        "started_at": None,
        "ended_at": None,
        "cancel_reason": None,
        "retry_of": None,
        "spec": job["spec"],
        "state_since": job["created_at"],
        "progress": None,
        "retries": 0,
        "resumes": 0,
    }
    assert job["created_at"].endswith("Z")
    assert await nlp.reread(job) == job


async def test_writes_the_first_event(nlp: Any, body: Any) -> None:
    job = await nlp.accepted(body())
    (event,) = (await nlp.client.get(f"/v1/jobs/{job['id']}/events")).json()["items"]
    assert (event["type"], event["state"], event["reason"]) == ("accepted", "held", "WaitingForRelease")


async def test_fills_in_the_defaults_in_the_spec(nlp: Any, body: Any) -> None:
    spec = (await nlp.accepted(body(task={"name": None, "replicas": 3})))["spec"]
    assert (spec["queue"], spec["priority"], spec["min_available"]) == ("q-nlp", "normal", 3)
    assert spec["tasks"][0]["name"] == "worker"


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"task": {"replicas": 0}}, ["/tasks/0/replicas"]),
        ({"task": {"replicas": -1}}, ["/tasks/0/replicas"]),
        ({"min_availble": 3}, ["/min_availble"]),
        ({"restart_policy": "Always"}, ["/restart_policy"]),
        ({"array": {"size": 2}}, ["/array"]),
        ({"run_timeout_seconds": 0}, ["/run_timeout_seconds"]),
        ({"name": "a\n"}, ["/name"]),
        ({"priority": "urgent"}, ["/priority"]),
        ({"labels": {"volcano.sh/job-name": "x"}}, ["/labels/volcano.sh~1job-name"]),
        ({"annotations": {"k": "x" * 262_144}}, ["/annotations"]),
        ({"name": "A", "task": {"replicas": 0, "image": ""}}, ["/name", "/tasks/0/replicas", "/tasks/0/image"]),
        ({"name": "x" * 57, "labels": {"a": " "}, "min_available": 2}, ["/name", "/labels/a", "/min_available"]),
    ],
)
async def test_points_to_what_is_wrong(nlp: Any, body: Any, changes: dict[str, Any], pointers: list[str]) -> None:
    problem = await nlp.refused(body(**changes), 422, "validation-error")
    assert sorted(error["pointer"] for error in problem["errors"]) == sorted(pointers)
    assert all(error["code"] and error["detail"] for error in problem["errors"])
    assert await nlp.used() == 0


async def test_takes_annotations_up_to_kubernetes_limit(nlp: Any, body: Any) -> None:
    await nlp.accepted(body(annotations={"k": "x" * 262_143}))


@pytest.mark.parametrize(
    "raw", ['"replicas": NaN', '"replicas": -Infinity', '"replicas": 1e400', '"replicas": 1, "replicas": 8']
)
async def test_refuses_what_is_no_json_number(nlp: Any, body: Any, raw: str) -> None:
    text = '{"name": "a", "tasks": [{"image": "i", "resources": {}, ' + raw + "}]}"
    headers = {"Content-Type": "application/json"}
    answer = await nlp.client.post("/v1/teams/nlp/jobs", content=text, headers=headers)
    assert answer.status_code in {400, 422}
    assert answer.json()["type"] in {"invalid-json", "validation-error"}
    assert await nlp.names() == []


@pytest.mark.parametrize("gpus", [0.5, "500m"])
async def test_advises_a_whole_card_for_a_fraction(nlp: Any, body: Any, gpus: Any) -> None:
    problem = await nlp.refused(body(gpus=gpus), 422, "gpu-not-whole")
    assert "whole card" in problem["detail"]
    assert problem["errors"][0]["pointer"] == "/tasks/0/resources/gpus"


async def test_proposes_the_qualified_name_of_a_gpu(nlp: Any, body: Any) -> None:
    task = {"resources": {"gpus": 1, "gpu_resource": "gpu"}}
    problem = await nlp.refused(body(task=task), 422, "validation-error")
    assert "nvidia.com/gpu" in problem["errors"][0]["detail"]


async def test_pod_names_are_measured_at_the_largest_index(nlp: Any, body: Any) -> None:
    name = "j" * 54  # and -worker-<index>
    await nlp.accepted(body(name=name, gpus=0, task={"replicas": 10}))
    problem = await nlp.refused(body(name=name, gpus=0, task={"replicas": 11}), 422, "validation-error")
    assert problem["errors"][0]["pointer"] == "/name"
    assert {"63", "64"} <= set(problem["errors"][0]["detail"].replace(";", " ").split())


class TestNames:
    async def test_a_live_name_is_taken(self, nlp: Any, body: Any) -> None:
        first = await nlp.accepted(body())
        problem = await nlp.refused(body(), 409, "name-in-use")
        assert first["id"] in problem["detail"]
        assert problem["job_id"] == first["id"]

    async def test_a_finished_name_is_free_with_another_name_in_the_cluster(self, nlp: Any, body: Any) -> None:
        first = await nlp.accepted(body())
        await nlp.cancel(first["id"])
        second = await nlp.accepted(body())
        assert second["id"] != first["id"]
        assert second["k8s_name"] == f"bulk-score-{second['id'][-6:]}"
        assert await nlp.names() == ["bulk-score", "bulk-score"]

    async def test_a_used_name_is_shortened_so_that_its_pods_fit(self, nlp: Any, body: Any) -> None:
        long = body(name="j" * 54)
        await nlp.cancel((await nlp.accepted(long))["id"])
        second = await nlp.accepted(long)
        assert second["name"] == "j" * 54
        assert len(second["k8s_name"] + "-worker-0") == 63
        assert second["k8s_name"].startswith("j" * 47 + "-")

    async def test_teams_share_no_names(self, nlp: Any, vision: Any, body: Any) -> None:
        assert (await nlp.accepted(body()))["k8s_name"] == (await vision.accepted(body()))["k8s_name"] == "bulk-score"

    async def test_a_name_can_look_like_another_jobs_name_in_the_cluster(self, nlp: Any, body: Any) -> None:
        await nlp.cancel((await nlp.accepted(body()))["id"])
        second = await nlp.accepted(body())
        third = await nlp.accepted(body(name=second["k8s_name"]))
        assert third["k8s_name"] != second["k8s_name"]


async def _observe(sessions: Sessions, state: str) -> None:
    async with sessions.begin() as session:
        await session.execute(update(QueueRow).values(observed={"state": state}))


class TestQueues:
    async def test_a_queue_of_another_team_is_not_granted(self, nlp: Any, vision: Any, body: Any) -> None:
        await nlp.refused(body(queue="q-vision"), 422, "queue-not-granted")

    async def test_an_unknown_queue_is_not_granted(self, nlp: Any, body: Any) -> None:
        await nlp.refused(body(queue="nowhere"), 422, "queue-not-granted")

    async def test_a_named_queue_is_used(self, api: Any, body: Any) -> None:
        await api.make_queue("one")
        await api.make_queue("two")
        await api.make_team("both", queues=["one", "two"])
        answer = await api.admin.post("/v1/teams/both/jobs", json=body(queue="two"))
        assert answer.json()["queue"] == "two"

    async def test_a_queue_with_dots_in_its_name_can_be_named(self, api: Any, body: Any) -> None:
        await api.make_queue("team.batch")
        await api.make_team("dotted", queues=["team.batch"])
        answer = await api.admin.post("/v1/teams/dotted/jobs", json=body(queue="team.batch"))
        assert (answer.status_code, answer.json()["queue"]) == (201, "team.batch")

    @pytest.mark.parametrize("state", ["Closed", "Closing"])
    async def test_a_closed_queue_takes_no_jobs(self, nlp: Any, body: Any, sessions: Sessions, state: str) -> None:
        await _observe(sessions, state)
        problem = await nlp.refused(body(), 409, "queue-not-open")
        assert problem["detail"] == f"The queue q-nlp is {state} and takes no jobs."

    @pytest.mark.parametrize("state", ["Open", "", "Unknown"])
    async def test_a_queue_that_is_not_ready_yet_holds_jobs(
        self, nlp: Any, body: Any, sessions: Sessions, state: str
    ) -> None:
        await _observe(sessions, state)
        assert (await nlp.accepted(body()))["state"] == "held"

    async def test_a_gang_above_the_capability_never_fits(self, api: Any, body: Any) -> None:
        await api.make_queue("small", capability={"nvidia.com/gpu": 2})
        await api.make_team("wide", queues=["small"], gpus=8)
        answer = await api.admin.post("/v1/teams/wide/jobs", json=body(task={"replicas": 3}))
        problem = answer.json()
        assert (answer.status_code, problem["type"]) == (422, "job-never-fits")
        assert (problem["resource"], problem["limit"], problem["requested"]) == ("nvidia.com/gpu", 2, 3)
        answer = await api.admin.post("/v1/teams/wide/jobs", json=body(task={"replicas": 3}, min_available=2))
        assert answer.status_code == 201


class TestRights:
    async def test_a_viewer_may_not_submit(self, nlp: Any, body: Any) -> None:
        viewer = await nlp.api.member("nlp", "viewer")
        answer = await viewer.post("/v1/teams/nlp/jobs", json=body())
        assert (answer.status_code, answer.json()["type"]) == (403, "forbidden")
        assert await nlp.names() == []

    async def test_another_team_is_not_found(self, nlp: Any, vision: Any, body: Any) -> None:
        answer = await nlp.client.post("/v1/teams/vision/jobs", json=body())
        assert answer.status_code == 404
        assert await vision.names() == []

    async def test_an_unknown_team_is_not_found_for_an_administrator(self, api: Any, body: Any) -> None:
        assert (await api.admin.post(f"/v1/teams/{uuid4()}/jobs", json=body())).status_code == 404

    async def test_a_bad_body_without_a_token_is_unauthenticated(self, api: Any, nlp: Any) -> None:
        assert (await api.client(None).post("/v1/teams/nlp/jobs", json={"x": 1})).status_code == 401


async def test_env_values_come_out_nowhere(nlp: Any, body: Any, capsys: Any) -> None:
    secret = "tok-123"
    job = await nlp.accepted(body(task={"env": {"HF_TOKEN": secret}}))
    wrong = await nlp.submit(body(name="b", task={"env": {"HF_TOKEN": secret}, "replicas": "x"}))
    assert wrong.status_code == 422
    other = await nlp.api.member("nlp", "viewer")
    paths = ("/v1/jobs", *(f"/v1/jobs/{job['id']}{part}" for part in ("", "/manifest", "/events")))
    answers = [wrong.text, str(job), *[(await other.get(path)).text for path in paths]]
    assert job["spec"]["tasks"][0]["env"] == {"HF_TOKEN": "***"}
    assert secret not in "".join(answers)
    assert secret not in "".join(capsys.readouterr())


async def test_counts_what_was_accepted_and_refused(nlp: Any, body: Any) -> None:
    def counted() -> tuple[float, float]:
        refused = REGISTRY.get_sample_value("pumice_jobs_refused_total", {"type": "name-in-use"})
        return REGISTRY.get_sample_value("pumice_jobs_accepted_total") or 0.0, refused or 0.0

    accepted, refused = counted()
    await nlp.accepted(body(), Idempotency_Key="k1")
    await nlp.submit(body(), Idempotency_Key="k1")
    await nlp.submit(body())
    assert counted() == (accepted + 1, refused + 1)
