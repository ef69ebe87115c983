"""kubectl against the simulated cluster, with Volcano."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from app.simulator.cluster import SimulatedCluster, SimulatorSettings

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl on this machine"),
]

LIMIT_SECONDS = 60
Kubectl = Callable[..., Awaitable[tuple[int, str]]]

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: demo, namespace: default, labels: {app: demo}}
spec:
  schedulerName: volcano
  minAvailable: 2
  tasks:
  - name: worker
    replicas: 2
    template:
      spec:
        restartPolicy: Never
        containers:
        - {name: main, image: "registry.test/llm:1", command: [sleep, "20"], resources: {limits: {nvidia.com/gpu: 1}}}
"""


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    settings = SimulatorSettings(speed=20)
    async with SimulatedCluster(settings) as cluster:
        config = cluster.kubeconfig(tmp_path / "kubeconfig")

        async def run(*arguments: str, text: str = "") -> tuple[int, str]:
            process = await asyncio.create_subprocess_exec(
                "kubectl",
                f"--kubeconfig={config}",
                f"--cache-dir={tmp_path / 'cache'}",
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            async with asyncio.timeout(LIMIT_SECONDS):
                output, _ = await process.communicate(text.encode())
            return process.returncode or 0, output.decode()

        yield run


async def test_get_shows_volcanos_columns(kubectl: Kubectl) -> None:
    code, output = await kubectl("get", "nodes", "-o", "json")
    assert code == 0, output
    assert [item["metadata"]["name"] for item in json.loads(output)["items"]] == ["gpu-1", "gpu-2", "gpu-3"]
    code, output = await kubectl("get", "queues")
    assert (code, output.splitlines()[0].split()) == (0, ["NAME", "PARENT"])
    code, output = await kubectl("get", "deployments", "-A")
    assert code == 0
    assert output.count("1/1") == 3


async def test_a_job_from_apply_to_delete(kubectl: Kubectl) -> None:
    code, output = await kubectl("apply", "-f", "-", text=JOB)
    assert (code, output.strip()) == (0, "job.batch.volcano.sh/demo created")
    code, output = await kubectl("wait", "vj/demo", "--for=jsonpath={.status.state.phase}=Running", "--timeout=30s")
    assert code == 0, output
    code, output = await kubectl("get", "vj,pg,pods", "-o", "wide")
    assert code == 0, output
    assert "demo-worker-0" in output
    code, output = await kubectl("describe", "vj", "demo")
    assert code == 0, output
    assert "Phase:" in output
    code, output = await kubectl("describe", "pod", "demo-worker-0")
    assert code == 0, output
    assert "Started container" in output
    code, output = await kubectl("describe", "node", "gpu-1")
    assert code == 0, output
    assert "nvidia.com/gpu" in output
    code, output = await kubectl("logs", "demo-worker-1")
    assert (code, output.startswith("simulated: demo-worker-1 main starts")) == (0, True)
    code, output = await kubectl("delete", "vj", "demo", "--timeout=30s")
    assert code == 0, output
    code, output = await kubectl("wait", "pod", "--all", "--for=delete", "--timeout=30s")
    assert code == 0, output
    code, output = await kubectl("get", "vj,pg,pods", "-o", "name")
    assert (code, output.strip()) == (0, "")


async def test_apply_changes_core_objects(kubectl: Kubectl) -> None:
    first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\ndata: {a: '1', b: '2'}\n"
    for text, expected in ((first, "created"), (first, "unchanged"), (first.replace(", b: '2'", ""), "configured")):
        code, output = await kubectl("apply", "-f", "-", text=text)
        assert (code, output.strip()) == (0, f"configmap/c {expected}")
    code, output = await kubectl("get", "configmap", "c", "-o", "jsonpath={.data}")
    assert (code, json.loads(output)) == (0, {"a": "1"})


async def test_labels_annotations_and_patches(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", text=JOB)
    for arguments in (
        ("label", "vj", "demo", "colour=red"),
        ("annotate", "vj", "demo", "note=hello"),
        ("patch", "vj", "demo", "--type=merge", '-p={"metadata":{"labels":{"size":"small"}}}'),
    ):
        code, output = await kubectl(*arguments)
        assert code == 0, output
    code, output = await kubectl("get", "vj", "-l", "colour=red,size in (small)", "-o", "name")
    assert (code, output.strip()) == (0, "job.batch.volcano.sh/demo")


async def test_a_refusal_is_shown(kubectl: Kubectl) -> None:
    code, output = await kubectl("apply", "-f", "-", text=JOB.replace("replicas: 2", "replicas: -1"))
    assert code == 1
    assert "spec.tasks[0].replicas in body should be greater than or equal to 0" in output
    code, output = await kubectl("get", "vj", "nope")
    assert (code, output.strip()) == (1, 'Error from server (NotFound): jobs.batch.volcano.sh "nope" not found')
