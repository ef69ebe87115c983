"""The mission's example (volcano-facts 7.2): six GPUs, high-priority may hold four, low-priority two."""

from typing import Any

QUOTA = "queue resource quota insufficient: insufficient nvidia.com/gpu"
OVERUSED = "resource in cluster is overused: overused nvidia.com/gpu"


def test_both_queues_fill_their_capability(seed: Any) -> None:
    seed.job("high", "high-priority", pods=2, gpus=2)
    seed.job("low", "low-priority", pods=1, gpus=2)
    seed.settle()
    assert (seed.phase("high"), seed.phase("low")) == ("Running", "Running")
    assert seed.allocated("high-priority") == {"cpu": "2", "memory": "0", "nvidia.com/gpu": "4", "pods": "2"}
    assert seed.allocated("low-priority")["nvidia.com/gpu"] == "2"
    assert seed.allocated("root") == {"cpu": "3", "memory": "0", "nvidia.com/gpu": "6", "pods": "3"}


def test_limits_only_gang_beyond_capability_is_enqueued_and_waits(seed: Any) -> None:
    seed.job("big", "high-priority", pods=3, gpus=2, limits_only=True)
    seed.session()
    assert seed.phase("big") == "Inqueue"
    seed.session()
    fit = "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 Unschedulable, 2 Schedulable"
    assert seed.condition("big") == f"1/3 tasks in gang unschedulable: {fit}"
    assert seed.placed("big") == 0
    assert seed.pod_condition("big-worker-2") == ("Unschedulable", fit)
    reason, message = seed.pod_condition("big-worker-0")
    assert reason == "Schedulable"
    assert message.startswith("Pod team/big-worker-0 can possibly be assigned to gpu-")
    assert message.endswith(", once minAvailable is satisfied")
    assert ("big", "Warning", f"3/3 tasks in gang unschedulable: {fit}") in seed.events
    assert seed.allocated("high-priority") == {"cpu": "0", "memory": "0"}


def test_gang_that_is_given_up_leaves_the_share_to_the_next_job(seed: Any) -> None:
    seed.job("big", "high-priority", pods=3, gpus=2, limits_only=True)
    seed.job("small", "high-priority", pods=2, gpus=2, limits_only=True)
    seed.settle()
    assert (seed.placed("big"), seed.placed("small")) == (0, 2)


def test_gang_with_requests_beyond_capability_is_not_enqueued(seed: Any) -> None:
    seed.job("big", "high-priority", pods=3, gpus=2)
    seed.settle()
    assert seed.phase("big") == "Pending"
    assert seed.pods_of("big") == []
    assert "conditions" not in seed.groups["big"]["status"]
    first_refusal = "0/0 tasks in gang unschedulable: pod group is not ready, 3 minAvailable"
    assert set(seed.events) == {("big", "Normal", QUOTA), ("big", "Warning", first_refusal)}


def test_elastic_job_runs_what_fits_and_continues(seed: Any) -> None:
    seed.job("elastic", "high-priority", pods=3, gpus=2, minimum=1)
    seed.settle()
    assert seed.phase("elastic") == "Running"
    assert seed.placed("elastic") == 2
    text = "pod group is ready, 1 Pending, 1 minAvailable, 2 Running; Pending: 1 Unschedulable"
    assert seed.pod_condition("elastic-worker-2") == ("Unschedulable", text)
    seed.pods["elastic-worker-0"]["status"]["phase"] = "Succeeded"
    seed.settle()
    assert seed.pods["elastic-worker-2"]["spec"]["nodeName"]


def test_second_limits_only_job_of_a_full_queue_waits_with_pods(seed: Any) -> None:
    seed.job("first", "high-priority", pods=2, gpus=2, limits_only=True)
    seed.settle()
    seed.job("second", "high-priority", pods=1, gpus=2, limits_only=True)
    seed.settle()
    assert seed.phase("second") == "Inqueue"
    text = "pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable"
    assert seed.pod_condition("second-worker-0") == ("Unschedulable", text)


def test_second_job_with_requests_in_a_full_queue_is_refused_by_proportion(seed: Any) -> None:
    seed.job("first", "high-priority", pods=2, gpus=2)
    seed.settle()
    seed.job("second", "high-priority", pods=1, gpus=2)
    seed.settle()
    assert seed.phase("second") == "Pending"
    assert ("second", "Normal", QUOTA) in seed.events


def test_full_cluster_is_refused_by_overcommit_first(seed: Any) -> None:
    seed.job("high", "high-priority", pods=2, gpus=2)
    seed.job("low", "low-priority", pods=1, gpus=2)
    seed.settle()
    seed.job("next", "low-priority", pods=1, gpus=2)
    seed.settle()
    normal = [message for name, kind, message in seed.events if (name, kind) == ("next", "Normal")]
    assert set(normal) == {OVERUSED}


def test_finished_pods_of_a_running_gang_reserve_nothing(seed: Any) -> None:
    """Recorded in trace 00: one pod of four has finished and the refusal is proportion's, no longer overcommit's."""
    seed.job("high", "high-priority", pods=4, gpus=1)
    seed.job("low", "low-priority", pods=2, gpus=1)
    seed.settle()
    seed.pods["high-worker-0"]["status"]["phase"] = "Succeeded"
    seed.job("next", "high-priority", pods=2, gpus=1)
    seed.settle()
    assert ("next", "Normal", QUOTA) in seed.events
    assert ("next", "Normal", OVERUSED) not in seed.events


def test_surplus_of_an_elastic_job_lets_the_next_one_in(seed: Any) -> None:
    seed.job("elastic", "high-priority", pods=2, gpus=2, minimum=1)
    seed.settle()
    seed.job("second", "high-priority", pods=1, gpus=2)
    seed.settle()
    assert seed.placed("elastic") == 2
    assert seed.phase("second") == "Inqueue"


def test_pod_larger_than_any_node(seed: Any) -> None:
    seed.job("wide", "high-priority", pods=1, gpus=3)
    seed.settle()
    text = "0/3 nodes are unavailable: 3 Insufficient nvidia.com/gpu."
    assert seed.pod_condition("wide-worker-0") == ("Unschedulable", text)
    assert seed.condition("wide") == (
        "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable; "
        f"Pending: 1 Unschedulable. Origin reason is wide-worker-0: {text}"
    )


def test_job_starts_when_the_other_one_completes(seed: Any) -> None:
    seed.job("first", "low-priority", pods=1, gpus=2)
    seed.settle()
    seed.job("second", "low-priority", pods=2, gpus=1)
    seed.settle()
    assert seed.phase("second") == "Pending"
    seed.finish("first")
    seed.settle()
    assert seed.placed("second") == 2


def test_fragmented_gpus_do_not_fit_a_pod_of_two(seed: Any) -> None:
    for number in (1, 2, 3):
        queue = "high-priority" if number < 3 else "low-priority"
        seed.job(f"single-{number}", queue, pods=1, gpus=1, spec={"nodeSelector": {"kubernetes.io/x": str(number)}})
        seed.nodes[f"gpu-{number}"]["metadata"]["labels"] = {"kubernetes.io/x": str(number)}
    seed.settle()
    seed.job("pair", "high-priority", pods=1, gpus=2)
    seed.settle()
    text = "0/3 nodes are unavailable: 3 Insufficient nvidia.com/gpu."
    assert seed.pod_condition("pair-worker-0") == ("Unschedulable", text)


def test_closed_queue_refuses_in_silence_and_runs_no_new_pods(seed: Any) -> None:
    seed.job("running", "high-priority", pods=2, gpus=1, minimum=1)
    seed.settle()
    seed.queues["high-priority"]["status"]["state"] = "Closing"
    recreated = seed.pods["running-worker-1"]
    recreated["spec"].pop("nodeName")
    recreated["status"] = {"phase": "Pending"}
    seed.job("late", "high-priority", pods=1, gpus=1)
    seed.settle()
    assert seed.phase("late") == "Pending"
    assert not [event for event in seed.events if event[:2] == ("late", "Normal")]
    assert (seed.phase("running"), seed.placed("running")) == ("Running", 1)


def test_jobs_of_a_missing_queue_are_left_alone_and_not_counted(seed: Any) -> None:
    seed.job("orphan", "low-priority", pods=1, gpus=2)
    seed.settle()
    status = seed.groups["orphan"]["status"]
    del seed.queues["low-priority"]
    result = seed.session()
    assert result.jobs == ()
    assert seed.groups["orphan"]["status"] is status
    assert seed.allocated("root") == {"cpu": "0", "memory": "0"}
    seed.job("other", "high-priority", pods=3, gpus=2, limits_only=True, minimum=2)
    seed.settle()
    assert seed.placed("other") == 2
