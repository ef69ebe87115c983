"""Pods behind scheduling gates, as the Job controller sees them: they are pending (Volcano v1.15.1)."""

from typing import Any

from app.simulator.kinds import JOB, POD

GATES = [{"name": "pumice.dev/turn"}]


def _gated() -> dict[str, Any]:
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.test/x"}]}
    return {"template": {"spec": {**spec, "schedulingGates": GATES}}}


async def test_gates_of_the_template_are_on_every_pod(cluster: Any) -> None:
    await cluster.submit(task=_gated(), minAvailable=1)
    await cluster.admit()
    await cluster.until(lambda: len(cluster.names(POD)) == 2)
    pods = [cluster.find(POD, f"a-worker-{index}") for index in (0, 1)]
    assert [pod["spec"]["schedulingGates"] for pod in pods] == [GATES, GATES]
    assert [pod["status"]["conditions"][0]["reason"] for pod in pods] == ["SchedulingGated", "SchedulingGated"]
    job = await cluster.until(lambda: (j := cluster.find(JOB, "a"))["status"].get("pending") == 2 and j)
    assert job["status"]["state"]["phase"] == "Pending"


async def test_a_failed_pod_that_is_deleted_comes_again_behind_the_gate(cluster: Any) -> None:
    await cluster.submit(task=_gated(), minAvailable=1)
    await cluster.admit()
    await cluster.until(lambda: cluster.find(POD, "a-worker-1"))
    first = cluster.find(POD, "a-worker-0")
    change = {"metadata": {"annotations": {"pumice.dev/index": "0"}}, "spec": {"schedulingGates": None}}
    await cluster.objects.patch(POD, "team", "a-worker-0", change)
    await cluster.set_pod("a-worker-0", "Running")
    await cluster.phase("a", "Running")
    await cluster.set_pod("a-worker-0", "Failed", 1)
    await cluster.until(lambda: cluster.find(JOB, "a")["status"].get("failed") == 1)
    assert cluster.find(POD, "a-worker-0")["metadata"]["uid"] == first["metadata"]["uid"]
    await cluster.objects.delete(POD, "team", "a-worker-0", uid=first["metadata"]["uid"])
    again = await cluster.until(
        lambda: (p := cluster.find(POD, "a-worker-0")) and p["status"]["phase"] == "Pending" and p
    )
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert again["spec"]["schedulingGates"] == GATES
    assert "pumice.dev/index" not in again["metadata"]["annotations"]
    job = await cluster.until(lambda: (j := cluster.find(JOB, "a"))["status"].get("pending") == 2 and j)
    assert (job["status"].get("failed"), job["status"].get("retryCount")) == (None, None)
