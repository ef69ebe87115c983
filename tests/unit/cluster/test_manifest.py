"""Golden Volcano Jobs: `PUMICE_UPDATE_GOLDEN=1 pytest tests/unit/cluster/test_manifest.py` writes them anew."""

import json
import os
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml

from app.cluster.manifest import ManifestInput, render, render_masked
from app.jobs import charges
from app.jobs.annotations import MAXIMUM_BYTES, VOLCANO_BYTES
from app.jobs.schemas import JobCreate
from app.quantity import whole

GOLDEN = Path(__file__).parents[2] / "data" / "manifests"

LEAST = {"name": "least", "tasks": [{"replicas": 1, "image": "registry.test/llm:1", "resources": {}}]}

EVERYTHING = {
    "name": "everything",
    "labels": {"dataset": "d1"},
    "annotations": {"simulator.pumice.dev/run-seconds": "3", "note": "nightly"},
    "tasks": [
        {
            "name": "prepare",
            "replicas": 2,
            "image": "registry.test/prepare:1",
            "args": ["--fast"],
            "resources": {"cpu": 0.5, "memory": "1.5Gi"},
            "min_available": 1,
        },
        {
            "name": "score",
            "replicas": 4,
            "image": "registry.test/llm:1",
            "command": ["python", "infer.py"],
            "env": {"MODEL": "m", "A": "1"},
            "secret_env": {"HF_TOKEN": {"secret": "hf", "key": "token"}},
            "resources": {"cpu": "4", "memory": "16Gi", "gpus": "2000m"},
            "node_selector": {"gpu-type": "a100"},
            "tolerations": [
                {"key": "gpu", "value": "batch", "effect": "NoSchedule"},
                {"operator": "Exists", "effect": "NoExecute", "toleration_seconds": 30},
            ],
            "volumes": [
                {"claim": "models", "path": "/models", "read_only": True},
                {"claim": "scratch", "path": "/scratch"},
                {"claim": "models", "path": "/cache"},
            ],
            "depends_on": ["prepare"],
        },
    ],
    "min_success": 5,
    "retries": {
        "max": 2,
        "on": [
            {"exit_codes": [137, 143], "action": "restart_task"},
            {"exit_codes": [3], "action": "restart_job"},
        ],
    },
}

MIG = {
    "name": "mig-slices",
    "tasks": [
        {
            "replicas": 3,
            "image": "registry.test/llm:1",
            "resources": {"gpus": 1, "gpu_resource": "nvidia.com/mig-1g.5gb"},
        },
        {"replicas": 1, "image": "registry.test/merge:1", "resources": {"memory": "1Gi"}},
    ],
    "min_available": 2,
    "retries": {"max": 1},
}


def given(body: Any, **changes: Any) -> Any:
    facts = {
        "job_id": UUID("01936f6e-4c00-7000-8000-000000000001"),
        "installation_id": UUID("01936f6e-4c00-7000-8000-00000000000f"),
        "team": "nlp",
        "namespace": "team-nlp",
        "name": body["name"],
        "queue": "q-nlp",
        "priority_class": "normal",
        "ttl_seconds": 86_400,
        "spec": JobCreate.model_validate(body),
    }
    return ManifestInput(**{**facts, **changes})


@pytest.mark.parametrize("body", [LEAST, EVERYTHING, MIG], ids=lambda body: body["name"])
def test_renders_the_golden_job(body: Any) -> None:
    rendered = yaml.safe_dump(render(given(body)), sort_keys=False)
    path = GOLDEN / f"{body['name']}.yaml"
    if os.environ.get("PUMICE_UPDATE_GOLDEN"):
        path.write_text(rendered)
    assert rendered == path.read_text()


def test_survives_storage_as_jsonb() -> None:
    spec = JobCreate.model_validate(EVERYTHING)
    # JSONB sorts members by length and then by bytes
    stored = json.loads(json.dumps(spec.model_dump(mode="json"), sort_keys=True))
    assert render(given(EVERYTHING, spec=JobCreate.model_validate(stored))) == render(given(EVERYTHING))


def test_masks_values_and_nothing_else() -> None:
    shown, real = render_masked(given(EVERYTHING)), render(given(EVERYTHING))
    text = json.dumps(shown)
    container = shown["spec"]["tasks"][1]["template"]["spec"]["containers"][0]
    own = {
        "PUMICE_JOB_ID": shown["metadata"]["labels"]["pumice.dev/job-id"],
        "PUMICE_TASK": shown["spec"]["tasks"][1]["name"],
    }
    assert {entry["name"]: entry["value"] for entry in container["env"][:2]} == own
    assert [entry.get("value") for entry in container["env"][2:]] == [None, "***", "***"]
    for entry in real["spec"]["tasks"][1]["template"]["spec"]["containers"][0]["env"]:
        if "value" in entry and entry["name"] not in own:
            entry["value"] = "***"
    assert json.loads(text) == real


@pytest.mark.parametrize("body", [LEAST, EVERYTHING, MIG], ids=lambda body: body["name"])
def test_asks_for_exactly_what_is_charged(body: Any) -> None:
    asked: dict[str, int] = {}
    for task in render(given(body))["spec"]["tasks"]:
        for container in task["template"]["spec"]["containers"]:
            requests, limits = (container["resources"].get(kind, {}) for kind in ("requests", "limits"))
            for resource, amount in requests.items():
                if "/" in resource:
                    assert limits[resource] == amount
                    asked[resource] = asked.get(resource, 0) + whole(amount) * task["replicas"]
    assert asked == charges.of_job(JobCreate.model_validate(body))


@pytest.mark.parametrize("retries", [{}, {"max": 3, "on": [{"exit_codes": [1], "action": "restart_job"}]}])
def test_volcano_restarts_nothing_by_itself(retries: dict[str, Any]) -> None:  # C-06; 0 would become 3
    spec = render(given({**LEAST, "retries": retries}))["spec"]
    assert (spec["maxRetry"], spec.get("policies")) == (1, None)


ARRAY = {
    "name": "shards",
    "tasks": [
        {
            "image": "registry.test/llm:1",
            "resources": {"gpus": 1},
            "env": {"MODEL": "m"},
            "array": {"size": 30, "parallelism": 4},
        }
    ],
    "min_success": 28,
}


@pytest.mark.parametrize(("run", "indices"), [("whole", None), ("partial", {"worker": [3, 17]})])
def test_renders_a_run_of_an_array(run: str, indices: Any) -> None:
    rendered = yaml.safe_dump(render(given(ARRAY, run_indices=indices, succeeded=27)), sort_keys=False)
    path = GOLDEN / f"shards-{run}.yaml"
    if os.environ.get("PUMICE_UPDATE_GOLDEN"):
        path.write_text(rendered)
    assert rendered == path.read_text()


def env_of(manifest: Any) -> dict[str, str]:
    (container,) = manifest["spec"]["tasks"][0]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value") or each["valueFrom"]["fieldRef"]["fieldPath"] for each in container["env"]}


def test_a_pod_is_never_told_two_indices() -> None:
    whole, partial = render(given(ARRAY)), render(given(ARRAY, run_indices={"worker": [3, 17]}))
    assert whole["spec"]["plugins"] == {"env": []}  # Volcano's plugin adds VC_TASK_INDEX, and VK_TASK_INDEX
    assert {"VC_TASK_INDEX", "VK_TASK_INDEX"}.isdisjoint(env_of(whole))
    assert partial["spec"]["plugins"] == {}
    written = "metadata.annotations['pumice.dev/index']"
    assert [env_of(partial)[name] for name in ("PUMICE_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX")] == [written] * 3
    assert env_of(partial)["PUMICE_ARRAY_SIZE"] == "30"


@pytest.mark.parametrize(
    ("array", "indices", "gated"),
    [
        ({"size": 4}, None, False),
        ({"size": 4, "parallelism": 4}, None, False),
        ({"size": 4, "parallelism": 3}, None, True),
        ({"size": 4, "indices": [2, 3]}, None, True),
        ({"size": 4}, {"worker": [0, 1, 2, 3]}, True),
    ],
)
def test_pods_wait_at_a_gate_where_the_controller_has_a_say(array: Any, indices: Any, gated: bool) -> None:
    body = {**ARRAY, "tasks": [{**ARRAY["tasks"][0], "array": array}], "min_success": None}  # type: ignore[index, dict-item]
    (task,) = render(given(body, run_indices=indices))["spec"]["tasks"]
    gates = task["template"]["spec"].get("schedulingGates", [])
    assert gates == ([{"name": "pumice.dev/turn"}] if gated else [])
    assert task["replicas"] == len(array.get("indices", range(4)))


def test_a_run_of_some_tasks_waits_for_no_other() -> None:
    (*_, last) = [task["name"] for task in render(given(EVERYTHING))["spec"]["tasks"]]
    spec = render(given(EVERYTHING, run_indices={last: [0]}))["spec"]
    (task,) = spec["tasks"]
    assert (task["name"], task["replicas"], task["minAvailable"], spec["minAvailable"]) == (last, 1, 1, 1)
    assert "dependsOn" not in task


def test_the_rest_of_an_array_asks_for_no_more_pods_than_it_may_have_at_a_time() -> None:
    task = {"image": "registry.test/llm:1", "resources": {}}
    tasks = [
        {**task, "name": "prepare", "replicas": 2},
        {**task, "name": "score", "array": {"size": 9, "parallelism": 1}},
    ]
    spec = render(given({"name": "a", "tasks": tasks}, run_indices={"score": [4, 5, 6]}))["spec"]
    assert (spec["minAvailable"], spec["tasks"][0]["minAvailable"]) == (1, 1)


def test_the_gang_waits_for_no_pod_that_waits_for_it() -> None:
    assert render(given(EVERYTHING))["spec"]["minAvailable"] == 1


def test_users_cannot_take_over_the_labels_that_are_watched() -> None:
    spec = JobCreate.model_validate(LEAST).model_copy(update={"labels": {"pumice.dev/job-id": "another"}})
    rendered = render(given(LEAST, spec=spec))
    for labels in (rendered["metadata"]["labels"], rendered["spec"]["tasks"][0]["template"]["metadata"]["labels"]):
        assert labels["pumice.dev/job-id"] == "01936f6e-4c00-7000-8000-000000000001"


def test_leaves_room_for_volcanos_annotations_on_pods() -> None:
    for size, on_pods in ((MAXIMUM_BYTES - VOLCANO_BYTES, True), (MAXIMUM_BYTES - VOLCANO_BYTES + 1, False)):
        body = {**LEAST, "annotations": {"k": "x" * (size - 1)}}
        rendered = render(given(body))
        assert rendered["metadata"]["annotations"] == body["annotations"]
        assert bool(rendered["spec"]["tasks"][0]["template"]["metadata"]["annotations"]) is on_pods


def test_leaves_out_what_is_not_known() -> None:
    rendered = render(given(LEAST, installation_id=None, priority_class=None))
    assert "pumice.dev/installation-id" not in rendered["metadata"]["labels"]
    assert "priorityClassName" not in rendered["spec"]
