from typing import Any

import pytest

from app.errors import GpuNotWhole, ValidationError
from app.jobs.validation import MAXIMUM_ANNOTATIONS_BYTES, check

PRIORITIES = ("low", "normal", "high")


def faults(spec: Any) -> Any:
    """The pointers of what is wrong, with their sentences."""
    with pytest.raises(ValidationError) as refused:
        check(spec, PRIORITIES)
    return {error["pointer"]: error["detail"] for error in refused.value.extras["errors"]}


def test_takes_a_job_with_everything(spec: Any) -> None:
    check(
        spec(
            priority="high",
            labels={"dataset": "d1", "example.com/owner": "x_1", "empty": ""},
            annotations={"simulator.pumice.dev/run-seconds": "3", "Note": "any text\n"},
            tasks=[
                {
                    "env": {"A": "1", "b.c-d": "2"},
                    "secret_env": {"TOKEN": {"secret": "hf", "key": "token"}},
                    "node_selector": {"kubernetes.io/hostname": "n1"},
                    "tolerations": [{"operator": "Exists", "effect": "NoExecute", "toleration_seconds": 5}],
                    "volumes": [{"claim": "c", "path": "/a"}, {"claim": "c", "path": "/b"}],
                    "replicas": 2,
                    "min_available": 1,
                },
                {"name": "after", "depends_on": ["worker"]},
            ],
            min_available=1,
            min_success=3,
            retries={"max": 2, "on": [{"exit_codes": [1, 2], "action": "restart_task"}]},
        ),
        PRIORITIES,
    )


@pytest.mark.parametrize(("job_length", "task_length"), [(1, 59), (30, 30), (54, 6), (59, 1)])
def test_measures_the_longest_pod_name(spec: Any, job_length: int, task_length: int) -> None:
    names = {"name": "j" * job_length, "task": {"name": "t" * task_length, "replicas": 10}}
    check(spec(**names), PRIORITIES)
    names["task"]["replicas"] = 11
    assert "63" in faults(spec(**names))["/name"]
    assert "64" in faults(spec(**names))["/name"]


def test_measures_volcanos_own_check_of_pod_names_too(spec: Any) -> None:
    tasks = [{"name": f"task-number-{index:02}"} for index in range(11)]
    check(spec(name="j" * 45, tasks=tasks), PRIORITIES)
    assert "/name" in faults(spec(name="j" * 46, tasks=tasks))  # <name>-task-number-10-10


def test_names_a_task_name_that_stands_twice(spec: Any) -> None:
    assert '"worker"' in faults(spec(tasks=[{}, {}]))["/tasks/1/name"]


def test_a_default_task_name_can_collide_too(spec: Any) -> None:
    assert set(faults(spec(tasks=[{"name": "task1"}, {"name": None}]))) == {"/tasks/1/name"}


@pytest.mark.parametrize(
    ("labels", "pointer"),
    [
        ({"a": "b" * 64}, "/labels/a"),
        ({"a": "-b"}, "/labels/a"),
        ({"a": "ü"}, "/labels/a"),
        ({"foo/": "x"}, "/labels/foo~1"),
        ({"/foo": "x"}, "/labels/~1foo"),
        ({"Foo.com/a": "x"}, "/labels/Foo.com~1a"),
        ({"a b": "x"}, "/labels/a b"),
        ({"a" * 64: "x"}, "/labels/" + "a" * 64),
        ({"": "x"}, "/labels/"),
        ({"volcano.sh/job-name": "x"}, "/labels/volcano.sh~1job-name"),
        ({"scheduling.volcano.sh/queue-name": "x"}, "/labels/scheduling.volcano.sh~1queue-name"),
        ({"scheduling.k8s.io/group-name": "x"}, "/labels/scheduling.k8s.io~1group-name"),
        ({"pumice.dev/job-id": "x"}, "/labels/pumice.dev~1job-id"),
        ({"simulator.pumice.dev/x": "x"}, "/labels/simulator.pumice.dev~1x"),
        ({"kubernetes.io/x": "x"}, "/labels/kubernetes.io~1x"),
        ({"app.kubernetes.io/name": "x"}, "/labels/app.kubernetes.io~1name"),
    ],
)
def test_refuses_labels(spec: Any, labels: dict[str, str], pointer: str) -> None:
    assert set(faults(spec(labels=labels))) == {pointer}


@pytest.mark.parametrize("label", ["notvolcano.sh/a", "example.com/volcano.sh", "volcano.sh", "mypumice.dev/x"])
def test_leaves_other_domains_alone(spec: Any, label: str) -> None:
    check(spec(labels={label: "x"}), PRIORITIES)


@pytest.mark.parametrize("key", ["volcano.sh/preemptable", "pumice.dev/x", "Pumice.dev/x", "a.k8s.io/b", "-x"])
def test_refuses_annotations(spec: Any, key: str) -> None:
    assert set(faults(spec(annotations={key: "x"}))) == {"/annotations/" + key.replace("/", "~1")}


def test_bounds_annotations_in_bytes(spec: Any) -> None:
    check(spec(annotations={"k": "ü" * ((MAXIMUM_ANNOTATIONS_BYTES - 2) // 2) + "x"}), PRIORITIES)
    found = faults(spec(annotations={"k": "x" * MAXIMUM_ANNOTATIONS_BYTES}))
    assert "262145" in found["/annotations"]
    assert "262144" in found["/annotations"]


def test_bounds_the_whole_manifest(spec: Any) -> None:
    check(spec(task={"args": ["x" * 900_000]}), PRIORITIES)
    assert "storage" in faults(spec(task={"args": ["x" * 1_000_000]}))[""]


def test_counts_annotations_once_for_each_task(spec: Any) -> None:
    tasks = [{"name": f"t{index}"} for index in range(10)]
    check(spec(annotations={"k": "x" * 80_000}, tasks=tasks), PRIORITIES)
    assert "" in faults(spec(annotations={"k": "x" * 95_000}, tasks=tasks))


@pytest.mark.parametrize("name", ["1A", "A B", "A=B", "", "..", "ü", "VC_TASK_INDEX", "PUMICE_TASK"])
@pytest.mark.parametrize("member", ["env", "secret_env"])
def test_refuses_names_of_variables(spec: Any, member: str, name: str) -> None:
    value = "x" if member == "env" else {"secret": "s", "key": "k"}
    assert set(faults(spec(task={member: {name: value}}))) == {f"/tasks/0/{member}/{name}"}


def test_refuses_a_variable_in_both_maps(spec: Any) -> None:
    task = {"env": {"A": "1"}, "secret_env": {"A": {"secret": "s", "key": "k"}}}
    assert set(faults(spec(task=task))) == {"/tasks/0/secret_env/A"}


@pytest.mark.parametrize(
    "resource",
    [
        *("gpu", "requests.nvidia.com/gpu", "limits.nvidia.com/gpu", "kubernetes.io/gpu", "sub.kubernetes.io/gpu"),
        *(
            "nvidia.com/",
            "nvidia.com/gpu ",
            "NVIDIA.com/gpu",
            "count/jobs",
            "/gpu",
            "a.b/c/d",
            "",
            "a" * 250 + ".b/gpu",
        ),
        *("volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores", "cpu", "memory", "pods"),
    ],
)
def test_refuses_names_of_resources(spec: Any, resource: str) -> None:
    found = faults(spec(task={"resources": {"gpus": 1, "gpu_resource": resource}}))
    assert set(found) == {"/tasks/0/resources/gpu_resource"}
    if resource == "gpu":
        assert "nvidia.com/gpu" in found["/tasks/0/resources/gpu_resource"]


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/mig-1g.5gb",
        "amd.com/gpu",
        "huawei.com/Ascend910",
        "nvidia.com/gtx-1080-ti",
        "volcano.sh/vgpu-number",
    ],
)
def test_takes_names_of_resources(spec: Any, resource: str) -> None:
    check(spec(task={"resources": {"gpus": 1, "gpu_resource": resource}}), PRIORITIES)


@pytest.mark.parametrize("gpus", [0.5, "0.5", "500m", "1.5", 1.5])
def test_advises_a_whole_card(spec: Any, gpus: Any) -> None:
    with pytest.raises(GpuNotWhole) as refused:
        check(spec(task={"resources": {"gpus": gpus}}), PRIORITIES)
    assert refused.value.type == "gpu-not-whole"
    assert "whole card" in refused.value.detail
    assert refused.value.extras["errors"][0]["pointer"] == "/tasks/0/resources/gpus"


def test_a_fraction_beside_other_faults_is_one_of_them(spec: Any) -> None:
    found = faults(spec(priority="urgent", task={"resources": {"gpus": 0.5}}))
    assert set(found) == {"/priority", "/tasks/0/resources/gpus"}


def test_refuses_sums_beyond_64_bits(spec: Any) -> None:
    exa = {"gpus": "1E"}
    check(spec(task={"replicas": 9, "resources": exa}), PRIORITIES)
    assert set(faults(spec(task={"replicas": 10, "resources": exa}))) == {"/tasks/0/resources/gpus"}
    two = [{"replicas": 5, "resources": exa}, {"name": "b", "replicas": 5, "resources": exa}]
    assert set(faults(spec(tasks=two))) == {"/tasks/1/resources/gpus"}
    assert set(faults(spec(task={"replicas": 100, "resources": {"memory": "1E"}}))) == {"/tasks"}


def test_bounds_all_replicas_together(spec: Any) -> None:
    check(spec(tasks=[{"replicas": 5000}, {"name": "b", "replicas": 5000}]), PRIORITIES)
    assert set(faults(spec(tasks=[{"replicas": 5000}, {"name": "b", "replicas": 5001}]))) == {"/tasks"}


@pytest.mark.parametrize(
    ("pointer", "changes"),
    [
        ("/min_available", {"min_available": 3, "task": {"replicas": 2}}),
        ("/min_success", {"min_success": 3, "task": {"replicas": 2}}),
        ("/tasks/0/min_available", {"task": {"replicas": 2, "min_available": 3}}),
        ("/priority", {"priority": "urgent"}),
        ("/retries/on/1/exit_codes/1", {"retries": {"on": [
            {"exit_codes": [1], "action": "restart_job"}, {"exit_codes": [2, 1], "action": "restart_task"}]}}),
        ("/tasks/0/volumes/1/path", {"task": {"volumes": [
            {"claim": "a", "path": "/m"}, {"claim": "b", "path": "/m/"}]}}),
        ("/tasks/0/tolerations/0/operator", {"task": {"tolerations": [{"value": "x"}]}}),
        ("/tasks/0/tolerations/0/value", {"task": {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]}}),
        ("/tasks/0/tolerations/0/toleration_seconds", {"task": {"tolerations": [
            {"key": "a", "toleration_seconds": 1}]}}),
        ("/tasks/0/node_selector/a", {"task": {"node_selector": {"a": "b c"}}}),
        ("/tasks/0/depends_on/0", {"task": {"depends_on": ["other"]}}),
        ("/tasks/0/depends_on", {"task": {"depends_on": ["worker"]}}),
    ],
)  # fmt: skip
def test_names_the_place(spec: Any, pointer: str, changes: dict[str, Any]) -> None:
    assert pointer in faults(spec(**changes))


def test_finds_a_circle_of_tasks_and_not_what_leads_into_it(spec: Any) -> None:
    tasks = [
        {"name": "a", "depends_on": ["c"]},
        {"name": "b", "depends_on": ["a"]},
        {"name": "c", "depends_on": ["b"]},
        {"name": "d"},
        {"name": "e", "depends_on": ["d"]},
    ]
    assert set(faults(spec(tasks=tasks))) == {f"/tasks/{index}/depends_on" for index in range(3)}


def test_a_gang_cannot_hold_tasks_that_wait_for_others(spec: Any) -> None:
    tasks = [{"name": "a", "replicas": 2}, {"name": "b", "depends_on": ["a"]}]
    check(spec(tasks=tasks, min_available=2), PRIORITIES)
    assert "have 2" in faults(spec(tasks=tasks, min_available=3))["/min_available"]


def test_never_repeats_a_value(spec: Any) -> None:
    secret = "tok-123"
    found = faults(
        spec(priority=secret, labels={"a": f" {secret}"}, task={"resources": {"gpu_resource": secret, "gpus": 1}})
    )
    assert len(found) == 3
    assert secret not in str(found)
