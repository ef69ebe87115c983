from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from app.cluster.observe import observe_job, observe_node, observe_pod_group, observe_queue
from app.cluster.observe_pod import observe_pod
from app.cluster.observed import Counts, Taint

PROJECTIONS = [observe_job, observe_pod_group, observe_pod, observe_queue, observe_node]
NAMED = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"}


def at(second: int) -> datetime:
    return datetime(2026, 11, 30, 22, 0, second, tzinfo=UTC)


def stamp(second: int) -> str:
    return f"2026-11-30T22:00:{second:02}Z"


def test_job() -> None:
    metadata = {
        **NAMED,
        "labels": {"pumice.dev/job-id": "id-1", "pumice.dev/installation-id": "here"},
        "finalizers": ["pumice.dev/recorded", "foregroundDeletion"],
        "creationTimestamp": stamp(1),
        "deletionTimestamp": stamp(9),
    }
    status = {
        "state": {"phase": "Running", "lastTransitionTime": stamp(3)},
        "version": 2,
        "retryCount": 1,
        "pending": 1,
        "running": 3,
        "succeeded": 4,
        "failed": 5,
        "terminating": 6,
    }
    job = observe_job({"metadata": metadata, "spec": {"queue": "q-nlp", "minAvailable": 4}, "status": status})
    assert job is not None
    assert (job.uid, job.namespace, job.name, job.job_id, job.installation) == ("u", "n", "a", "id-1", "here")
    assert (job.queue, job.phase, job.version, job.retry_count, job.min_available) == ("q-nlp", "Running", 2, 1, 4)
    assert job.counts == Counts(pending=1, running=3, succeeded=4, failed=5, terminating=6)
    assert job.finalizers == ("pumice.dev/recorded", "foregroundDeletion")
    assert (job.created_at, job.last_transition_at, job.deleting) == (at(1), at(3), True)


def test_job_that_volcano_has_not_seen() -> None:
    job = observe_job({"metadata": NAMED, "spec": {"tasks": None}})
    assert job is not None
    assert (job.phase, job.job_id, job.counts, job.deleting) == ("", None, Counts(), False)
    assert (job.created_at, job.last_transition_at, job.finalizers) == (None, None, ())


def pod_group(*conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "uid": "job-uid"}
    metadata = {**NAMED, "ownerReferences": [{"apiVersion": "v1", "kind": "Job", "uid": "other"}, owner]}
    spec = {"queue": "q-nlp", "minMember": 3}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": list(conditions), **status}}


def condition(kind: str, second: int, status: str = "True") -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": stamp(second),
        "reason": f"{kind}-reason",
        "message": f"{kind}-{second}",
    }


@pytest.mark.parametrize(
    ("conditions", "newest"),
    [
        ([], ""),
        ([condition("Unschedulable", 1), condition("Scheduled", 2)], "Scheduled-2"),
        ([condition("Scheduled", 1), condition("Unschedulable", 5)], "Unschedulable-5"),
        ([condition("Unschedulable", 2), condition("Scheduled", 2)], "Unschedulable-2"),
        ([condition("Other", 9), condition("Unschedulable", 2)], "Unschedulable-2"),
        ([condition("Unschedulable", 9, "False"), condition("Scheduled", 2)], "Scheduled-2"),
        ([{"type": "Unschedulable"}, condition("Scheduled", 2)], "Scheduled-2"),
    ],
)
def test_pod_group_condition(conditions: list[dict[str, Any]], newest: str) -> None:
    group = observe_pod_group(pod_group(*conditions, phase="Inqueue", running=1))
    assert group is not None
    assert group.message == newest
    assert (group.job_uid, group.queue, group.min_member, group.running) == ("job-uid", "q-nlp", 3, 1)
    assert group.reason == (f"{group.condition}-reason" if newest else "")


def test_group_of_bare_pods_has_no_job() -> None:
    group = observe_pod_group({"metadata": NAMED, "status": {"phase": "Pending"}})
    assert group is not None
    assert (group.job_uid, group.phase, group.condition) == (None, "Pending", "")


def test_messages_are_cut_and_can_be_stored() -> None:
    long = {**condition("Unschedulable", 1), "message": "\0\ud800" + "x" * 9 * 1024}
    group = observe_pod_group(pod_group(long))
    assert group is not None
    assert len(group.message) == 1024
    assert group.message.startswith("??x")


def pod(status: dict[str, Any], **spec: Any) -> Any:
    labels = {"pumice.dev/job-id": "id-1", "volcano.sh/job-name": "a", "volcano.sh/task-spec": "worker"}
    annotations = {"volcano.sh/job-version": "2", "volcano.sh/job-retry-count": "1", "volcano.sh/task-index": "12"}
    metadata = {**NAMED, "labels": labels, "annotations": annotations, "creationTimestamp": stamp(1)}
    observed = observe_pod({"metadata": metadata, "spec": spec, "status": status})
    assert observed is not None
    return observed


def container(state: dict[str, Any], last: dict[str, Any] | None = None, restarts: int = 0) -> dict[str, Any]:
    return {"state": state, "lastState": last, "restartCount": restarts}


def ended(code: int, reason: str = "", message: str = "", start: int = 2, end: int = 5) -> dict[str, Any]:
    times = {"startedAt": stamp(start), "finishedAt": stamp(end)}
    return {"terminated": {"exitCode": code, "reason": reason, "message": message, **times}}


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


def test_queue() -> None:
    spec = {
        "weight": 2,
        "priority": 5,
        "parent": "root",
        "reclaimable": False,
        "capability": {"nvidia.com/gpu": 4, "cpu": "8"},
        "deserved": None,
        "guarantee": {"resource": {"cpu": "1"}},
    }
    queue = observe_queue(
        {"metadata": NAMED, "spec": spec, "status": {"state": "Open", "allocated": {"nvidia.com/gpu": "2"}}}
    )
    assert queue is not None
    assert (queue.name, queue.state, queue.weight, queue.priority) == ("a", "Open", 2, 5)
    assert (queue.parent, queue.reclaimable) == ("root", False)
    assert queue.capability == {"nvidia.com/gpu": "4", "cpu": "8"}
    assert (queue.deserved, queue.guarantee, queue.allocated) == ({}, {"cpu": "1"}, {"nvidia.com/gpu": "2"})


def test_queue_just_created() -> None:
    queue = observe_queue({"metadata": NAMED, "spec": None, "status": None})
    assert queue is not None
    assert (queue.state, queue.weight, queue.reclaimable, queue.capability) == ("", 1, True, {})


def test_node() -> None:
    node = observe_node(
        {
            "metadata": {"name": "gpu-1", "resourceVersion": "1"},
            "spec": {
                "unschedulable": True,
                "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "l"}],
            },
            "status": {
                "allocatable": {"nvidia.com/gpu": "2"},
                "conditions": [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": "True"}],
            },
        }
    )
    assert node is not None
    assert (node.name, node.ready, node.unschedulable) == ("gpu-1", True, True)
    assert node.taints == (Taint("k", "v", "NoSchedule"), Taint("l", "", ""))
    assert node.allocatable == {"nvidia.com/gpu": "2"}


def test_a_nodes_report_that_changes_nothing_is_no_change() -> None:
    def report(version: str) -> Any:
        conditions = [{"type": "Ready", "status": "Unknown", "lastHeartbeatTime": version}]
        return observe_node(
            {"metadata": {"name": "n", "resourceVersion": version}, "status": {"conditions": conditions}}
        )

    assert report("1") == report("2")
    assert not report("1").ready


@pytest.mark.parametrize("project", PROJECTIONS)
@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": []}, {"metadata": {"name": 7, "uid": None}}])
def test_what_has_no_name_is_nothing(project: Any, obj: dict[str, Any]) -> None:
    assert project(obj) is None


JUNK = (None, [], {}, [None], [[]], [{}], {"a": None}, 7, -1, 2**70, 1.5, True, "", "x", "9" * 99)

WHOLE_JOB = {
    "metadata": {
        **NAMED,
        "labels": {"pumice.dev/job-id": "id-1"},
        "finalizers": ["pumice.dev/recorded"],
        "creationTimestamp": stamp(1),
        "deletionTimestamp": stamp(2),
    },
    "spec": {"queue": "q", "minAvailable": 1},
    "status": {"state": {"phase": "Running", "lastTransitionTime": stamp(3)}, "version": 1, "running": 1},
}
WHOLE_POD = {
    "metadata": {
        **NAMED,
        "labels": {"volcano.sh/task-index": "1"},
        "annotations": {"volcano.sh/job-version": "1", "volcano.sh/task-index": "1"},
    },
    "spec": {
        "nodeName": "gpu-1",
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}}],
        "initContainers": [{"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
    },
    "status": {
        "phase": "Failed",
        "startTime": stamp(1),
        "conditions": [condition("DisruptionTarget", 3), condition("PodScheduled", 3, "False")],
        "containerStatuses": [
            container(ended(1, "Error", "why"), ended(2), 1),
            container({"waiting": {"reason": "x"}}),
        ],
        "initContainerStatuses": [container({"running": {"startedAt": stamp(2)}})],
    },
}
WHOLE_QUEUE = {
    "metadata": NAMED,
    "spec": {"weight": 1, "capability": {"cpu": "1"}, "guarantee": {"resource": {"cpu": "1"}}, "reclaimable": True},
    "status": {"state": "Open", "allocated": {"cpu": "1"}},
}
WHOLE_NODE = {
    "metadata": NAMED,
    "spec": {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "1"}, "conditions": [condition("Ready", 1)]},
}


def spoiled(whole: Any) -> Iterator[Any]:
    """Every copy of an object in which one value, at any depth, is junk."""
    yield from JUNK
    if isinstance(whole, dict):
        for name, value in whole.items():
            yield from ({**whole, name: worse} for worse in spoiled(value))
    if isinstance(whole, list):
        for place, value in enumerate(whole):
            yield from ([*whole[:place], worse, *whole[place + 1 :]] for worse in spoiled(value))


@pytest.mark.parametrize(
    ("project", "whole"),
    [
        (observe_job, WHOLE_JOB),
        (observe_pod_group, pod_group(condition("Unschedulable", 1), condition("Scheduled", 2), phase="Inqueue")),
        (observe_pod, WHOLE_POD),
        (observe_queue, WHOLE_QUEUE),
        (observe_node, WHOLE_NODE),
    ],
)
def test_no_object_makes_a_projection_fail(project: Any, whole: dict[str, Any]) -> None:
    for spoilt in spoiled(whole):
        observed = project(spoilt)
        assert observed is None or observed.name
