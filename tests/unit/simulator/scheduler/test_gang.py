"""All of a gang or nothing of it, and what is told about it (volcano-facts 5.6, 6.1-6.3)."""

import random
from typing import Any

import pytest

CORDONED = {"unschedulable": True}
TAINTED = {"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]}


def test_gang_without_a_fitting_node_stops_at_its_first_pod(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("big", "q", pods=3, gpus=3, limits_only=True)
    cluster.node("spare-1", 2)
    cluster.node("spare-2", 2)
    cluster.settle()
    nodes = "0/5 nodes are unavailable: 5 Insufficient nvidia.com/gpu."
    counts = "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 3 Unschedulable"
    fit = f"{counts}. Origin reason is big-worker-0: {nodes}"
    assert cluster.condition("big") == f"3/3 tasks in gang unschedulable: {fit}"
    assert cluster.pod_condition("big-worker-0") == ("Unschedulable", nodes)
    assert cluster.pod_condition("big-worker-1") == ("Unschedulable", fit)


def test_each_node_gives_one_reason(cluster: Any) -> None:
    cluster.queue("q")
    cluster.nodes["gpu-2"]["spec"] = TAINTED
    cluster.nodes["gpu-3"]["spec"] = CORDONED
    cluster.job("t", "q", pods=2, gpus=2, limits_only=True)
    cluster.settle()
    assert cluster.condition("t") == (
        "1/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable; "
        "Pending: 1 Schedulable, 1 Unschedulable. Origin reason is t-worker-1: 0/3 nodes are unavailable: "
        "1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."
    )
    assert cluster.placed("t") == 0


def test_tolerated_taint_does_not_matter(cluster: Any) -> None:
    cluster.queue("q")
    for node in cluster.nodes.values():
        node["spec"] = TAINTED
    toleration = {"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"}
    cluster.job("t", "q", pods=3, gpus=2, spec={"tolerations": [toleration]})
    cluster.settle()
    assert cluster.placed("t") == 3


AFFINITY = {"key": "zone", "operator": "In", "values": ["b"]}


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"zone": "b"}},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [AFFINITY]}]
                    }
                }
            }
        },
    ],
    ids=["selector", "affinity"],
)
def test_pods_go_where_they_ask_to(cluster: Any, spec: dict[str, Any]) -> None:
    cluster.queue("q")
    cluster.nodes["gpu-2"]["metadata"]["labels"] = {"zone": "b"}
    cluster.job("t", "q", pods=1, gpus=2, spec=spec)
    cluster.settle()
    assert cluster.pods["t-worker-0"]["spec"]["nodeName"] == "gpu-2"
    cluster.job("u", "q", pods=1, gpus=2, spec=spec)
    cluster.settle()
    reason = "1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node affinity/selector"
    assert cluster.pod_condition("u-worker-0") == ("Unschedulable", f"0/3 nodes are unavailable: {reason}.")


def test_siblings_of_a_failed_role_are_skipped(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("t", "q", pods=3, gpus=3, minimum=1, limits_only=True, roles=("wide", "wide", "wide"))
    cluster.groups["t"]["spec"]["minTaskMember"] = {}
    cluster.settle()
    skipped = "Task t-wide-1 with role spec wide has already predicated failed, skip"
    assert cluster.pod_condition("t-wide-1") == ("Unschedulable", skipped)


def test_binding_session_leaves_the_group_inqueue_and_warns_once(cluster: Any) -> None:
    cluster.queue("q")
    cluster.starts_pods = False
    cluster.job("a", "q", pods=2, gpus=1)
    cluster.session()
    result = cluster.session()
    assert len(result.binds) == 2
    assert cluster.phase("a") == "Inqueue"
    assert cluster.condition("a", "Scheduled") == ""
    text = "0/2 tasks in gang unschedulable: pod group is ready, 2 Binding, 2 minAvailable"
    assert ("a", "Warning", text) in cluster.events
    cluster.session()
    assert cluster.phase("a") == "Running"
    assert cluster.groups["a"]["status"].get("running") is None
    assert ("a", "Normal", "pod group is ready") in cluster.events


def test_failed_pod_breaks_a_rigid_gang(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("a", "q", pods=2, gpus=1)
    cluster.settle()
    cluster.pods["a-worker-0"]["status"]["phase"] = "Failed"
    cluster.settle()
    status = cluster.groups["a"]["status"]
    assert (status["phase"], status["running"], status["failed"]) == ("Unknown", 1, 1)
    fit = "pod group is not ready, 1 Failed, 1 Running, 2 minAvailable"
    assert cluster.condition("a") == f"1/2 tasks in gang unschedulable: {fit}"
    assert [condition["type"] for condition in status["conditions"]] == ["Scheduled", "Unschedulable"]
    assert ("a", "Warning", f"0/2 tasks in gang unschedulable: {fit}") in cluster.events
    assert cluster.allocated("q")["nvidia.com/gpu"] == "1"


def test_succeeded_pods_keep_the_gang_whole_and_complete_it(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("a", "q", pods=2, gpus=1)
    cluster.settle()
    cluster.pods["a-worker-0"]["status"]["phase"] = "Succeeded"
    cluster.settle()
    assert cluster.phase("a") == "Running"
    cluster.pods["a-worker-1"]["status"]["phase"] = "Succeeded"
    cluster.settle()
    assert cluster.phase("a") == "Completed"


def test_gang_waits_for_pods_that_are_being_deleted(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("old", "q", pods=3, gpus=2, limits_only=True)
    cluster.settle()
    cluster.groups.pop("old")
    for pod in cluster.pods_of("old"):
        pod["metadata"]["deletionTimestamp"] = "2026-08-20T10:00:30Z"
    cluster.job("new", "q", pods=3, gpus=2, limits_only=True)
    cluster.settle()
    reason, message = cluster.pod_condition("new-worker-0")
    assert reason == "Unschedulable"
    assert message.endswith(", once resource is released and minAvailable is satisfied")
    assert cluster.placed("new") == 0
    for number in range(3):
        cluster.pods.pop(f"old-worker-{number}")
    cluster.settle()
    assert cluster.placed("new") == 3


def test_promised_room_is_not_promised_twice(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("old", "q", pods=3, gpus=2, limits_only=True)
    cluster.settle()
    cluster.groups.pop("old")
    for pod in cluster.pods_of("old"):
        pod["metadata"]["deletionTimestamp"] = "2026-08-20T10:00:30Z"
    cluster.job("first", "q", pods=2, gpus=2, limits_only=True)
    cluster.job("second", "q", pods=2, gpus=2, limits_only=True)
    cluster.settle()
    assert "once resource is released" in cluster.pod_condition("first-worker-1")[1]
    assert cluster.pod_condition("second-worker-1")[1].startswith("pod group is not ready")


@pytest.mark.parametrize("seed", range(5))
def test_free_node_comes_before_one_that_will_be_free(cluster: Any, seed: int) -> None:
    cluster.queue("q")
    cluster.job("old", "q", pods=3, gpus=2, limits_only=True)
    cluster.settle()
    cluster.groups.pop("old")
    for pod in cluster.pods_of("old"):
        pod["metadata"]["deletionTimestamp"] = "2026-08-20T10:00:30Z"
    free = cluster.pods.pop("old-worker-1")["spec"]["nodeName"]
    cluster.rng = random.Random(seed)
    cluster.job("new", "q", pods=1, gpus=2, limits_only=True)
    cluster.settle()
    assert cluster.pods["new-worker-0"]["spec"]["nodeName"] == free


def test_finished_pods_free_their_nodes(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("old", "q", pods=3, gpus=2)
    cluster.settle()
    cluster.finish("old")
    cluster.job("new", "q", pods=3, gpus=2)
    cluster.settle()
    assert cluster.placed("new") == 3


def test_role_minimums_are_kept(cluster: Any) -> None:
    cluster.queue("q")
    roles = ("driver", "worker", "worker", "worker")
    cluster.job("a", "q", pods=4, gpus=2, minimum=3, limits_only=True, roles=roles)
    cluster.groups["a"]["spec"]["minTaskMember"] = {"driver": 1, "worker": 2}
    cluster.settle()
    assert cluster.phase("a") == "Running"
    assert cluster.pods["a-driver-0"]["spec"]["nodeName"]


def test_pods_without_requests_are_backfilled_whatever_the_quota(seed: Any) -> None:
    seed.job("full", "low-priority", pods=1, gpus=2)
    seed.settle()
    seed.job("empty", "low-priority", pods=2, gpus=0, limits_only=True)
    seed.settle()
    assert seed.phase("empty") == "Running"
    assert seed.placed("empty") == 2


def test_node_takes_no_more_pods_than_it_may_have(cluster: Any) -> None:
    cluster.queue("q")
    for node in cluster.nodes.values():
        node["status"]["allocatable"]["pods"] = "1"
    cluster.job("empty", "q", pods=4, gpus=0, minimum=1, limits_only=True)
    cluster.settle()
    assert cluster.placed("empty") == 3
    text = "0/3 nodes are unavailable: 3 node(s) pod number exceeded."
    assert cluster.pod_condition("empty-worker-3") == ("Unschedulable", text)


def test_pods_of_another_scheduler_take_room_but_are_not_scheduled(cluster: Any) -> None:
    cluster.queue("q")
    cluster.job("foreign", "q", pods=1, gpus=2, spec={"schedulerName": "default-scheduler"}, limits_only=True)
    cluster.settle()
    assert cluster.placed("foreign") == 0
    text = "0/0 tasks in gang unschedulable: pod group is not ready, 1 minAvailable"
    assert ("foreign", "Warning", text) in cluster.events
    cluster.pods["foreign-worker-0"]["spec"]["nodeName"] = "gpu-1"
    cluster.job("own", "q", pods=3, gpus=2, limits_only=True)
    cluster.settle()
    assert cluster.placed("own") == 0
    assert cluster.condition("own").startswith("1/3 tasks in gang unschedulable")
