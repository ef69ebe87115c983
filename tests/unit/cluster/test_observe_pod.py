from datetime import datetime
from typing import Any

import pytest

from app.cluster.observe_pod import observe_pod
from app.cluster.observed import Progress
from tests.unit.cluster.objects import NAMED, at, container, ended, stamp


def pod(status: dict[str, Any], **spec: Any) -> Any:
    labels = {"pumice.dev/job-id": "id-1", "volcano.sh/job-name": "a", "volcano.sh/task-spec": "worker"}
    annotations = {"volcano.sh/job-version": "2", "volcano.sh/job-retry-count": "1", "volcano.sh/task-index": "12"}
    metadata = {**NAMED, "labels": labels, "annotations": annotations, "creationTimestamp": stamp(1)}
    observed = observe_pod({"metadata": metadata, "spec": spec, "status": status})
    assert observed is not None
    return observed


def test_pod_says_whose_it_is() -> None:
    found = pod({"phase": "Running"}, nodeName="gpu-1")
    assert (found.job_id, found.job_name, found.task, found.index) == ("id-1", "a", "worker", 12)
    assert (found.job_version, found.retry_count, found.node, found.created_at) == (2, 1, "gpu-1", at(1))


@pytest.mark.parametrize(
    ("status", "reason", "exit_code"),
    [
        ({"phase": "Failed", "containerStatuses": [container(ended(137, "OOMKilled"))]}, "OOMKilled", 137),
        ({"phase": "Failed", "containerStatuses": [container(ended(3, "Error"))]}, "Error", 3),
        ({"phase": "Failed", "containerStatuses": [container(ended(3))]}, "Error", 3),
        (
            {"phase": "Failed", "containerStatuses": [container(ended(0, "Completed")), container(ended(2, "Error"))]},
            "Error",
            2,
        ),
        (
            {"phase": "Failed", "reason": "Evicted", "containerStatuses": [container(ended(137, "Error"))]},
            "Evicted",
            137,
        ),
        ({"phase": "Unknown", "reason": "NodeLost"}, "NodeLost", None),
        ({"phase": "Succeeded", "containerStatuses": [container(ended(0, "Completed"))]}, "", 0),
        (
            {
                "phase": "Running",
                "containerStatuses": [container({"waiting": {"reason": "CrashLoopBackOff"}}, ended(1, "Error"), 4)],
            },
            "CrashLoopBackOff",
            1,
        ),
        (
            {"phase": "Pending", "containerStatuses": [container({"waiting": {"reason": "ImagePullBackOff"}})]},
            "ImagePullBackOff",
            None,
        ),
        (
            {"phase": "Pending", "containerStatuses": [container({"waiting": {"reason": "ContainerCreating"}})]},
            "",
            None,
        ),
        (
            {"phase": "Pending", "initContainerStatuses": [container(ended(1, "Error"))], "containerStatuses": None},
            "Error",
            1,
        ),
        (
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
            },
            "Unschedulable",
            None,
        ),
        ({}, "", None),
    ],
)
def test_pod_trouble(status: dict[str, Any], reason: str, exit_code: int | None) -> None:
    found = pod(status)
    assert (found.reason, found.exit_code) == (reason, exit_code)


def test_pod_waits_and_restarts() -> None:
    waiting = container({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}}, ended(1), 3)
    found = pod({"phase": "Running", "containerStatuses": [waiting, container({"running": {}}, None, 2)]})
    assert (found.waiting_reason, found.message, found.restarts) == ("CrashLoopBackOff", "back-off 40s", 5)


def test_pod_disruption() -> None:
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    assert pod({"phase": "Running", "conditions": conditions}).disruption == "PreemptionByScheduler"
    assert pod({"phase": "Running"}).disruption == ""


@pytest.mark.parametrize(
    ("status", "started_at", "ended_at"),
    [
        ({"phase": "Pending", "startTime": stamp(2)}, None, None),
        ({"phase": "Running", "containerStatuses": [container({"running": {"startedAt": stamp(4)}})]}, at(4), None),
        ({"phase": "Running", "startTime": stamp(2)}, at(2), None),
        (
            {
                "phase": "Succeeded",
                "containerStatuses": [container(ended(0, start=3, end=5)), container(ended(0, start=2, end=9))],
            },
            at(2),
            at(9),
        ),
        (
            {
                "phase": "Failed",
                "reason": "Evicted",
                "conditions": [{"type": "Ready", "lastTransitionTime": stamp(7)}, {"type": "PodScheduled"}],
            },
            None,
            at(7),
        ),
        ({"phase": "Failed", "startTime": "0001-01-01T00:00:00Z"}, None, None),
    ],
)
def test_pod_times(status: dict[str, Any], started_at: datetime | None, ended_at: datetime | None) -> None:
    found = pod(status)
    assert (found.started_at, found.ended_at) == (started_at, ended_at)


def holding(**resources: Any) -> dict[str, Any]:
    return {"resources": {"limits": {name.replace("_", "/"): value for name, value in resources.items()}}}


@pytest.mark.parametrize(
    ("spec", "resources"),
    [
        ({}, {}),
        ({"containers": None}, {}),
        (
            {"containers": [{"resources": {"limits": {"cpu": "4", "memory": "1Gi", "nvidia.com/gpu": "2"}}}]},
            {"nvidia.com/gpu": 2},
        ),
        ({"containers": [{"resources": {"requests": {"amd.com/gpu": 1}, "limits": None}}]}, {"amd.com/gpu": 1}),
        (
            {"containers": [{"resources": {"requests": {"a.b/c": "1"}, "limits": {"a.b/c": "1000m"}}}] * 2},
            {"a.b/c": 2},
        ),
        (
            {"containers": [holding(x_gpu="1")], "initContainers": [holding(x_gpu="3"), holding(x_gpu="2")]},
            {"x/gpu": 3},
        ),
        (
            {
                "containers": [holding(x_gpu="1")],
                "initContainers": [{**holding(x_gpu="2"), "restartPolicy": "Always"}, holding(x_gpu="2")],
            },
            {"x/gpu": 4},
        ),
        ({"containers": [holding(x_gpu="0.5", y_gpu="-1", z_gpu="0")]}, {}),
        ({"containers": [{"resources": {"limits": {"kubernetes.io/batch-cpu": "1", "hugepages-2Mi": "1Gi"}}}]}, {}),
    ],
)
def test_pod_holds_whole_devices(spec: dict[str, Any], resources: dict[str, int]) -> None:
    assert pod({}, **spec).resources == resources


@pytest.mark.parametrize(
    ("spec", "gates"),
    [
        ({}, ()),
        ({"schedulingGates": None}, ()),
        ({"schedulingGates": "pumice.dev/turn"}, ()),
        ({"schedulingGates": [{"name": "example.com/quota"}, {"name": "pumice.dev/turn"}]}, "both"),
        ({"schedulingGates": [{"name": "example.com/quota"}, None, {"name": "pumice.dev/turn"}]}, "both"),
    ],
)
def test_pod_waits_behind_its_gates(spec: dict[str, Any], gates: Any) -> None:
    assert pod({}, **spec).gates == (("example.com/quota", "pumice.dev/turn") if gates == "both" else gates)


def annotated(**annotations: Any) -> Any:
    named = {f"pumice.dev/{name}": value for name, value in annotations.items()}
    observed = observe_pod({"metadata": {**NAMED, "annotations": named}, "status": {"phase": "Running"}})
    assert observed is not None
    return observed


@pytest.mark.parametrize(("written", "index"), [("0", 0), ("12", 12), (None, None), ("-1", None), ("x", None)])
def test_pod_runs_the_index_that_it_was_given(written: Any, index: int | None) -> None:
    assert annotated(index=written).run_index == index


@pytest.mark.parametrize(
    ("written", "progress"),
    [
        ("0/0", (0, 0)),
        ("0/10", (0, 10)),
        ("10/10", (10, 10)),
        ("007/010", (7, 10)),
        ("1000000000000/1000000000000", (10**12, 10**12)),
    ],
)
def test_pod_says_how_far_it_is(written: str, progress: tuple[int, int]) -> None:
    found = annotated(progress=written)
    assert (found.progress, found.progress_is_strange) == (Progress(*progress), False)


@pytest.mark.parametrize(
    "written",
    [
        *(
            "",
            "5",
            "5/",
            "/5",
            "-1/5",
            "+1/5",
            "1/-5",
            "6/5",
            "1.5/5",
            "1/5 ",
            " 1/5",
            "1 / 5",
            "1/5/9",
            "1e3/1e4",
            "50%",
        ),
        *("0/1000000000001", "0/9999999999999", "1/" + "9" * 100_000, "\u0661/\u0665", "\uff11/\uff15", "1/5\n", 5),
        {"done": 1},
    ],
)
def test_what_is_no_progress_is_ignored_and_strange(written: Any) -> None:
    found = annotated(progress=written)
    assert (found.progress, found.progress_is_strange) == (None, True)


def test_pod_need_not_say_how_far_it_is() -> None:
    found = annotated()
    assert (found.progress, found.progress_is_strange) == (None, False)
