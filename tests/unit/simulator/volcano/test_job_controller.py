"""The Job controller where no trace shows it."""

from typing import Any

import pytest

from app.simulator.kinds import COMMAND, CONFIG_MAP, JOB, POD, QUEUE, SERVICE
from app.simulator.volcano.settings import VolcanoSettings


def _task(name: str, replicas: int = 1, **more: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.test/x"}]}}
    return {"name": name, "replicas": replicas, "template": template, **more}


async def test_pods_are_made_only_once_the_scheduler_lets_the_job_in(cluster: Any) -> None:
    await cluster.submit()
    await cluster.admit(phase="Pending")
    await cluster.idle()
    assert cluster.names(POD) == []
    await cluster.admit(phase="Inqueue")
    await cluster.until(lambda: len(cluster.names(POD)) == 2)
    assert (await cluster.phase("a", "Pending"))["status"]["minAvailable"] == 2


async def test_finished_job_loses_its_counters_and_its_pod_group(cluster: Any) -> None:
    await cluster.start()
    for index in range(2):
        await cluster.set_pod(f"a-worker-{index}", "Succeeded", 0)
    await cluster.phase("a", "Completed")
    job = await cluster.until(lambda: (j := cluster.find(JOB, "a"))["status"].get("version") and j)
    assert "succeeded" not in job["status"]
    statuses = [version["status"] for version in cluster.versions if version["kind"] == "Job" and "status" in version]
    completed = [status for status in statuses if status["state"]["phase"] == "Completed"]
    assert completed[0]["succeeded"] == 2
    assert cluster.pod_group() is None
    assert len(cluster.names(POD)) == 2


async def test_finished_counters_can_be_kept(fixed_cluster: Any) -> None:
    await fixed_cluster.start()
    await fixed_cluster.set_pod("a-worker-0", "Succeeded", 0)
    await fixed_cluster.set_pod("a-worker-1", "Failed", 1)
    await fixed_cluster.phase("a", "Failed")
    job = await fixed_cluster.until(lambda: (j := fixed_cluster.find(JOB, "a"))["status"].get("version") and j)
    assert (job["status"]["succeeded"], job["status"]["failed"]) == (1, 1)


@pytest.mark.parametrize(("code", "phase"), [(137, "Restarting"), (1, "Running")])
async def test_policy_by_exit_code(cluster: Any, code: int, phase: str) -> None:
    await cluster.start(policies=[{"exitCode": 137, "action": "RestartJob"}])
    await cluster.set_pod("a-worker-0", "Failed", code)
    await cluster.idle()
    job = cluster.find(JOB, "a")
    restarted = phase == "Restarting"
    assert job["status"].get("retryCount", 0) == int(restarted)
    assert (job["status"]["state"]["phase"] == "Running") is not restarted


async def test_task_policy_goes_before_the_jobs(cluster: Any) -> None:
    await cluster.start(
        task={"policies": [{"event": "PodFailed", "action": "CompleteJob"}]},
        policies=[{"event": "PodFailed", "action": "AbortJob"}],
    )
    await cluster.set_pod("a-worker-0", "Failed", 1)
    await cluster.phase("a", "Completed")
    assert ("Normal", "ExecuteAction", "Start to execute action CompleteJob ") in cluster.events("Job")


async def test_policy_with_a_timeout_waits_and_is_void_when_the_pod_runs(cluster: Any) -> None:
    await cluster.submit(policies=[{"event": "PodPending", "action": "AbortJob", "timeout": "40s"}])
    await cluster.admit()
    await cluster.run_pods()
    await cluster.clock.sleep(60)
    await cluster.idle()
    assert cluster.find(JOB, "a")["status"]["state"]["phase"] == "Running"


async def test_policy_with_a_timeout_is_carried_out(cluster: Any) -> None:
    await cluster.submit(policies=[{"event": "PodPending", "action": "AbortJob", "timeout": "20s"}])
    await cluster.admit()
    await cluster.phase("a", "Aborted")
    assert ("Normal", "ExecuteAction", "Execute action AbortJob after 20s") in cluster.events("Job")


async def test_three_rounds_of_suspend_and_resume_use_up_the_retries(cluster: Any) -> None:
    await cluster.submit()
    for _ in range(3):
        await cluster.phase("a", "Pending")
        await cluster.command("AbortJob", "Job", "a")
        await cluster.phase("a", "Aborted")
        await cluster.command("ResumeJob", "Job", "a")
        await cluster.until(lambda: cluster.find(JOB, "a")["status"]["state"]["phase"] in ("Pending", "Failed"))
    job = await cluster.phase("a", "Failed")
    assert job["status"]["retryCount"] == 3


async def test_command_is_gone_before_it_is_carried_out(cluster: Any) -> None:
    await cluster.start()
    await cluster.command("TerminateJob", "Job", "a")
    await cluster.phase("a", "Terminated")
    assert cluster.names(COMMAND) == []
    assert [reason for _, reason, _ in cluster.events("Job")] == ["CommandIssued", "ExecuteAction"]


async def test_missing_queue_ends_in_terminated(cluster: Any) -> None:
    await cluster.queue("q")
    await cluster.start(queue="q")
    await cluster.objects.delete(QUEUE, None, "q")
    await cluster.set_pod("a-worker-0", "Succeeded", 0)
    await cluster.phase("a", "Terminated")
    assert ("Normal", "ExecuteAction", "Job failed on action SyncJob for retry limit reached") in cluster.events("Job")


async def test_queue_that_comes_back_in_time_heals_the_job(cluster: Any) -> None:
    await cluster.queue("q")
    await cluster.start(queue="q")
    await cluster.objects.delete(QUEUE, None, "q")
    await cluster.objects.delete(POD, "team", "a-worker-0")
    await cluster.idle()
    await cluster.queue("q")
    await cluster.until(lambda: cluster.find(POD, "a-worker-0"))
    assert cluster.find(JOB, "a")["status"]["state"]["phase"] in ("Running", "Pending")


async def test_pods_that_cannot_be_made_end_the_job(cluster: Any) -> None:
    await cluster.submit(priorityClassName="absent")
    await cluster.admit()
    await cluster.phase("a", "Terminated")
    kind, reason, message = next(event for event in cluster.events("Job") if event[1] == "FailedCreate")
    assert (kind, reason) == ("Warning", "FailedCreate")
    assert "no PriorityClass with name absent was found" in message


async def test_evicted_pod_is_made_again_and_the_job_falls_back_to_pending(cluster: Any) -> None:
    await cluster.start()
    old = cluster.find(POD, "a-worker-1")["metadata"]["uid"]
    await cluster.objects.delete(POD, "team", "a-worker-1")
    new = await cluster.until(lambda: cluster.find(POD, "a-worker-1"))
    assert new["metadata"]["uid"] != old
    await cluster.phase("a", "Pending")


async def test_scaling_down_removes_the_highest_indexes(cluster: Any) -> None:
    await cluster.start(replicas=3)
    await cluster.objects.patch(
        JOB, "team", "a", {"spec": {"minAvailable": 1, "tasks": [_scaled(cluster.find(JOB, "a"), 1)]}}
    )
    await cluster.until(lambda: cluster.names(POD) == ["a-worker-0"])
    group = cluster.pod_group()
    assert (group["spec"]["minMember"], group["spec"]["minTaskMember"]) == (1, {"worker": 1})


def _scaled(job: dict[str, Any], replicas: int) -> dict[str, Any]:
    return {**job["spec"]["tasks"][0], "replicas": replicas, "minAvailable": replicas}


async def test_service_of_the_svc_plugin_lives_as_long_as_the_run(cluster: Any) -> None:
    await cluster.start(plugins={"svc": [], "env": []})
    service, config = cluster.find(SERVICE, "a"), cluster.find(CONFIG_MAP, "a-svc")
    assert service["spec"]["clusterIP"] == "None"
    assert config["data"]["VC_WORKER_HOSTS"] == "a-worker-0.a,a-worker-1.a"
    job = cluster.find(JOB, "a")
    assert job["status"]["controlledResources"] == {"plugin-env": "env", "plugin-svc": "svc"}
    await cluster.command("AbortJob", "Job", "a")
    await cluster.phase("a", "Aborted")
    assert (cluster.find(SERVICE, "a"), cluster.find(CONFIG_MAP, "a-svc")) == (None, None)


async def test_dependent_task_waits_for_the_other(cluster: Any) -> None:
    tasks = [_task("first"), _task("second", dependsOn={"name": ["first"]})]
    await cluster.submit(tasks=tasks, minAvailable=1)
    await cluster.admit()
    await cluster.until(lambda: cluster.names(POD) == ["a-first-0"])
    await cluster.idle()
    assert cluster.names(POD) == ["a-first-0"]
    await cluster.set_pod("a-first-0", "Running")
    await cluster.until(lambda: cluster.names(POD) == ["a-first-0", "a-second-0"])


async def test_deleted_job_leaves_nothing(cluster: Any) -> None:
    await cluster.start(plugins={"svc": []})
    await cluster.objects.delete(JOB, "team", "a")
    await cluster.until(lambda: not cluster.names(POD) and cluster.pod_group() is None)
    await cluster.until(lambda: not cluster.names(SERVICE))


async def test_job_of_the_same_name_is_not_confused_with_the_one_before(cluster: Any) -> None:
    await cluster.start()
    await cluster.objects.delete(JOB, "team", "a")
    await cluster.until(lambda: cluster.pod_group() is None)
    await cluster.start()
    assert cluster.find(JOB, "a")["status"].get("retryCount", 0) == 0


async def test_restarted_controllers_go_on_where_they_were(cluster: Any) -> None:
    await cluster.start()
    uids = [cluster.find(POD, name)["metadata"]["uid"] for name in cluster.names(POD)]
    await cluster.stop_controllers()
    await cluster.set_pod("a-worker-0", "Succeeded", 0)
    cluster.start_controllers(VolcanoSettings())
    await cluster.until(lambda: cluster.find(JOB, "a")["status"].get("succeeded") == 1)
    assert [cluster.find(POD, name)["metadata"]["uid"] for name in cluster.names(POD)] == uids
    statuses = [version["status"] for version in cluster.versions if version["kind"] == "Job" and "status" in version]
    assert statuses[-1]["running"] == 1
    await cluster.set_pod("a-worker-1", "Succeeded", 0)
    await cluster.phase("a", "Completed")


async def test_one_broken_job_does_not_stop_the_others(cluster: Any) -> None:
    registry = cluster.objects._registry
    broken = {"metadata": {"name": "broken", "namespace": "team", "uid": "1", "creationTimestamp": "now"}, "spec": {}}
    registry.store.put(JOB, {"apiVersion": JOB.api_version, "kind": "Job", **broken})
    await cluster.start()
