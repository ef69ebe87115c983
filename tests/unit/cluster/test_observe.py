from collections.abc import Iterator
from typing import Any

import pytest

from app.cluster.observe import observe_job, observe_node, observe_pod_group, observe_queue
from app.cluster.observe_pod import observe_pod
from app.cluster.observed import Counts, Taint
from tests.unit.cluster.objects import NAMED, at, container, ended, stamp

PROJECTIONS = [observe_job, observe_pod_group, observe_pod, observe_queue, observe_node]


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
