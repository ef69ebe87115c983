"""`pumice simulate --kubeconfig` as a process, on a real kube-apiserver with kwok's nodes and without a Volcano."""

import contextlib
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.binaries import why_missing
from tests.controlplane.plane import ControlPlane
from tests.controlplane.service import ControlPlaneFailed

WORKS = r"^Volcano's part \(simulated\) works on https://127\.0\.0\.1:\d+$"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
LIMIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane for these tests alone: nothing of Volcano is on it, not even its kinds."""
    if not request.config.getoption("--control-plane"):
        pytest.skip("needs a real kube-apiserver: pytest --control-plane, after `make controlplane`")
    if missing := why_missing():
        pytest.fail(missing)
    with tempfile.TemporaryDirectory(prefix="p-") as path, ControlPlane(Path(path)) as plane:
        plane.add_nodes()
        yield plane


@pytest.fixture
def simulate(start: Callable[..., Any], plane: ControlPlane) -> Callable[..., Any]:
    return lambda *more: start("simulate", "--kubeconfig", str(plane.kubeconfig_path), *more)


@pytest.fixture
def working(simulate: Callable[..., Any]) -> Any:
    process = simulate("--schedule-period", "0.2")
    process.until_line(WORKS)
    return process


def job(name: str, size: int = 3, **spec: Any) -> dict[str, Any]:
    amounts = {"cpu": "1", "nvidia.com/gpu": "1"}
    container = {"name": "main", "image": "llm:1", "resources": {"requests": amounts, "limits": amounts}}
    container["securityContext"] = {"runAsUser": 7}
    pod = {"restartPolicy": "Never", "containers": [container]}
    task = {"name": "worker", "replicas": size, "template": {"spec": pod}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"queue": "default", "minAvailable": size, "tasks": [task], **spec},
    }


def queue(name: str, **metadata: Any) -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    return {**kind, "metadata": {"name": name, **metadata}, "spec": {"weight": 1}}


def until(plane: ControlPlane, path: str, holds: Callable[[Any], Any]) -> Any:
    deadline = time.monotonic() + LIMIT_SECONDS
    found: Any = None
    while True:
        with contextlib.suppress(ControlPlaneFailed):
            found = plane.call("GET", path)
            if holds(found):
                return found
        assert time.monotonic() < deadline, f"{path} still reads {found}\n{surroundings(plane)}"
        time.sleep(0.1)


def surroundings(plane: ControlPlane) -> list[Any]:
    """What a Job may wait for: its PodGroup, and whoever has the GPUs."""
    items = [item for path in (POD_GROUPS, PODS) for item in plane.call("GET", path)["items"]]
    return [(item["metadata"]["name"], item["spec"].get("nodeName"), item.get("status")) for item in items]


def phase(found: Any) -> Any:
    return found.get("status", {}).get("state", {}).get("phase")


def refusal(plane: ControlPlane, method: str, path: str, body: Any = None) -> str:
    with pytest.raises(ControlPlaneFailed) as failed:
        plane.call(method, path, body)
    return str(failed.value)


def registered(plane: ControlPlane) -> list[str]:
    found = [plane.call("GET", f"{WEBHOOKS}/{kind}webhookconfigurations") for kind in ("mutating", "validating")]
    return [item["metadata"]["name"] for listed in found for item in listed["items"]]


def test_a_gang_runs_and_nothing_of_the_job_is_lost(plane: ControlPlane, working: Any) -> None:
    sent = job("gang")
    plane.call("POST", JOBS, sent)
    until(plane, f"{JOBS}/gang", lambda found: phase(found) == "Completed")
    kept = plane.call("GET", f"{JOBS}/gang")["spec"]
    assert kept["schedulerName"] == "volcano"  # the webhook's default
    assert kept["tasks"][0]["template"] == sent["spec"]["tasks"][0]["template"]  # unknown fields are not pruned
    pods = plane.call("GET", f"{PODS}?labelSelector=volcano.sh/job-name=gang")["items"]
    assert sorted(pod["metadata"]["name"] for pod in pods) == [f"gang-worker-{index}" for index in range(3)]
    assert {pod["spec"]["nodeName"] for pod in pods} <= {"kwok-1", "kwok-2", "kwok-3"}
    assert plane.call("GET", f"{QUEUES}/default")["status"]["state"] == "Open"
    working.interrupt()
    assert working.finish() == 0


@pytest.mark.usefixtures("working")
def test_refusals_are_those_of_volcano(plane: ControlPlane) -> None:
    path = f"{JOBS}?dryRun=All"
    answers = {
        "absent": refusal(plane, "POST", path, job("absent", queue="nope")),
        "gang": refusal(plane, "POST", path, job("gang-of-nine", minAvailable=9)),
        "queue": refusal(plane, "DELETE", f"{QUEUES}/default"),
        "schema": refusal(plane, "POST", path, job("schema", maxRetry=-1)),
    }
    denied = r'400 .*"admission webhook \\"validate{}\.volcano\.sh\\" denied the request: {}","code":400}}'
    absent = 'unable to find job queue: queue.scheduling.volcano.sh \\"nope\\" not found;'
    words = {
        "absent": denied.format("job", re.escape(absent)),
        "gang": denied.format("job", "job 'minAvailable' should not be greater than total replicas in tasks;"),
        "queue": denied.format("queue", "`default` queue can not be deleted"),
        "schema": r"422 .*spec\.maxRetry in body should be greater than or equal to 0",
    }
    assert {name: answer for name, answer in answers.items() if not re.search(words[name], answer)} == {}


@pytest.mark.usefixtures("working")
def test_a_job_is_admitted_as_soon_as_its_queue_is_open(plane: ControlPlane) -> None:
    for number in range(5):
        name = f"new-{number}"
        plane.call("POST", QUEUES, queue(name))
        until(plane, f"{QUEUES}/{name}", lambda found: found.get("status", {}).get("state") == "Open")
        plane.call("POST", f"{JOBS}?dryRun=All", job(name, 1, queue=name))


def test_a_killed_one_is_replaced(plane: ControlPlane, simulate: Callable[..., Any]) -> None:
    first = simulate()
    first.until_line(WORKS)
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    assert "failed calling webhook" in refusal(plane, "POST", QUEUES, queue("orphan"))
    second = simulate()
    second.until_line(WORKS)
    plane.call("POST", QUEUES, queue("adopted"))
    second.interrupt()
    assert second.finish() == 0
    assert registered(plane) == []
    names = {item["metadata"]["name"] for item in plane.call("GET", DEFINITIONS)["items"]}
    assert "jobs.batch.volcano.sh" in names  # they stay, as the objects do
    plane.call("POST", QUEUES, queue("unguarded"))


def test_two_volcanos_are_refused(plane: ControlPlane, working: Any, simulate: Callable[..., Any]) -> None:
    second = simulate()
    assert second.finish(LIMIT_SECONDS) == 1
    assert "Another `pumice simulate --kubeconfig` is at work" in second.errors.read_text()
    working.interrupt()
    assert working.finish() == 0
    path = f"{WEBHOOKS}/validatingwebhookconfigurations"
    plane.call("POST", path, real_webhooks())
    third = simulate()
    assert third.finish(LIMIT_SECONDS) == 1
    assert "A real Volcano is installed" in third.errors.read_text()
    assert registered(plane) == ["volcano-admission-service-jobs-validate"]
    plane.call("DELETE", f"{path}/volcano-admission-service-jobs-validate")


def real_webhooks() -> dict[str, Any]:
    rule = {"apiGroups": ["nobody.test"], "apiVersions": ["v1"], "resources": ["none"], "operations": ["CREATE"]}
    webhook = {
        "name": "validatejob.volcano.sh",
        "clientConfig": {"url": "https://127.0.0.1:1/jobs/validate"},
        "rules": [rule],
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "volcano-admission-service-jobs-validate"},
        "webhooks": [webhook],
    }


@pytest.mark.usefixtures("working")
def test_it_goes_on_after_the_api_server_was_away(plane: ControlPlane) -> None:
    plane.api_server.kill()
    plane.start_api_server()
    plane.compact()
    plane.call("POST", JOBS, job("after"))
    until(plane, f"{JOBS}/after", lambda found: phase(found) == "Completed")
    until(plane, POD_GROUPS, lambda found: not [group for group in found["items"] if "after" in str(group)])
