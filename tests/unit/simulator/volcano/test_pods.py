"""What the Job controller puts on pods and PodGroups."""

from typing import Any

import pytest

from app.simulator.amounts import parse
from app.simulator.volcano.depends_on import may_start
from app.simulator.volcano.durations import seconds, text
from app.simulator.volcano.min_resources import min_resources
from app.simulator.volcano.pod_builder import build_pod
from app.simulator.volcano.pod_groups import build_pod_group, newest_condition, update_pod_group


def _template(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **spec: Any) -> Any:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"spec": {"containers": [{"name": "main", "image": "x", "resources": resources}], **spec}}


def _job(*tasks: Any, **spec: Any) -> Any:
    metadata = {"name": "a", "namespace": "n", "uid": "u", "annotations": {"volcano.sh/preemptable": "false"}}
    total = sum(task.get("minAvailable", task["replicas"]) for task in tasks)
    return {"metadata": metadata, "spec": {"queue": "q", "minAvailable": total, "tasks": list(tasks), **spec}}


def _task(name: str = "w", replicas: int = 2, template: Any = None, **more: Any) -> Any:
    return {"name": name, "replicas": replicas, "template": template or _template({"nvidia.com/gpu": "1"}), **more}


def test_gpus_under_limits_alone_are_not_counted() -> None:
    job = _job(_task(template=_template(limits={"nvidia.com/gpu": "2"})))
    assert min_resources(job, {}) == {"count/pods": "2", "pods": "2"}


def test_amounts_keep_their_form() -> None:
    requests = {"cpu": "500m", "memory": "1536Mi", "nvidia.com/gpu": "1"}
    job = _job(_task(replicas=3, template=_template(requests, {"memory": "2Gi"})))
    assert min_resources(job, {}) == {
        "count/pods": "3",
        "cpu": "1500m",
        "limits.memory": "6Gi",
        "memory": "4608Mi",
        "nvidia.com/gpu": "3",
        "pods": "3",
        "requests.cpu": "1500m",
        "requests.memory": "4608Mi",
        "requests.nvidia.com/gpu": "3",
    }


def test_largest_init_container_counts() -> None:
    init = [{"name": "i", "image": "x", "resources": {"requests": {"cpu": "3"}}}]
    job = _job(_task(replicas=1, template=_template({"cpu": "1"}, initContainers=init)))
    assert min_resources(job, {})["cpu"] == "3"


@pytest.mark.parametrize(("minimum", "gpus"), [(1, "8"), (3, "17"), (4, "18")])
def test_gang_is_filled_by_priority_of_the_tasks(minimum: int, gpus: str) -> None:
    low = _task("low", 2, _template({"nvidia.com/gpu": "1"}), minAvailable=2)
    high = _task("high", 2, _template({"nvidia.com/gpu": "8"}, priorityClassName="high"), minAvailable=2)
    job = _job(low, high, minAvailable=minimum)
    assert min_resources(job, {"high": 10})["nvidia.com/gpu"] == gpus


def test_elastic_tasks_are_topped_up_from_their_replicas() -> None:
    job = _job(_task("w", 4, minAvailable=1), minAvailable=3)
    assert min_resources(job, {})["nvidia.com/gpu"] == "3"


def test_pod_carries_its_job() -> None:
    template = {**_template(), "metadata": {"labels": {"team": "x"}, "annotations": {"note": "y"}}}
    pod = build_pod(
        _job(_task(template=template), schedulerName="volcano", priorityClassName="high"), _task(template=template), 1
    )
    assert pod["metadata"]["name"] == "a-w-1"
    assert pod["metadata"]["labels"]["team"] == "x"
    annotations = pod["metadata"]["annotations"]
    assert (annotations["note"], annotations["scheduling.k8s.io/group-name"]) == ("y", "a-u")
    assert (annotations["volcano.sh/job-version"], annotations["volcano.sh/preemptable"]) == ("0", "false")
    assert (pod["spec"]["schedulerName"], pod["spec"]["priorityClassName"]) == ("volcano", "high")
    assert pod["metadata"]["ownerReferences"][0]["controller"] is True


def test_plugins_name_the_pods_of_all_tasks() -> None:
    job = _job(_task("w", 2), _task("ps-x", 1), plugins={"svc": [], "env": []})
    pod = build_pod(job, job["spec"]["tasks"][0], 1)
    variables = {entry["name"]: entry for entry in pod["spec"]["containers"][0]["env"]}
    assert variables["VC_TASK_INDEX"]["value"] == "1"
    assert variables["VC_PS_X_HOSTS"]["valueFrom"]["configMapKeyRef"] == {"name": "a-svc", "key": "VC_PS_X_HOSTS"}
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("a-w-1", "a")


def test_pod_group_follows_the_job_but_never_changes_its_queue() -> None:
    job = _job(_task())
    group = build_pod_group(job, {})
    assert (group["metadata"]["name"], group["spec"]["queue"], group["spec"]["minMember"]) == ("a-u", "q", 2)
    assert update_pod_group(group, job, {}) is None
    changed = update_pod_group(group, _job(_task(replicas=3), queue="other"), {})
    assert changed is not None
    assert (changed["spec"]["queue"], changed["spec"]["minMember"], changed["spec"]["minTaskMember"]) == (
        "q",
        3,
        {"w": 3},
    )


def test_newest_condition_is_the_first_of_those_with_the_latest_stamp() -> None:
    def condition(kind: str, second: int) -> Any:
        return {"type": kind, "status": "True", "lastTransitionTime": f"2026-01-01T00:00:0{second}Z"}

    conditions = [condition("Scheduled", 1), condition("Unschedulable", 2), condition("Other", 2)]
    newest = newest_condition({"status": {"conditions": conditions}})
    assert newest is not None
    assert newest["type"] == "Unschedulable"


@pytest.mark.parametrize(("iteration", "starts"), [("any", True), ("all", False)])
def test_depends_on_one_or_all(iteration: str, starts: bool) -> None:
    waiting = _task("c", dependsOn={"name": ["a", "b"], "iteration": iteration})
    job = _job(_task("a", 1, minAvailable=1), _task("b", 1, minAvailable=1), waiting)
    ready = {"status": {"phase": "Running", "containerStatuses": [{"ready": True}]}}
    assert may_start(job, waiting, {"a-a-0": ready, "a-b-0": {"status": {"phase": "Pending"}}}) is starts


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("0.5", "500m"),
        ("1000", "1k"),
        ("2048Mi", "2Gi"),
        ("1.5Gi", "1536Mi"),
        ("0", "0"),
        (-1, "-1"),
        (2, "2"),
        ("1e3", "1k"),
    ],
)
def test_canonical_amounts(written: object, canonical: str) -> None:
    assert str(parse(written)) == canonical


@pytest.mark.parametrize("wrong", ["abc", "", "1Gb", None, "--1", True])
def test_what_is_no_amount(wrong: object) -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        parse(wrong)


@pytest.mark.parametrize(("written", "value"), [("90s", 90.0), ("1m30s", 90.0), ("1h0m1.5s", 3601.5), (None, 0.0)])
def test_durations(written: str | None, value: float) -> None:
    assert seconds(written) == value
    if written:
        assert seconds(text(value)) == value
