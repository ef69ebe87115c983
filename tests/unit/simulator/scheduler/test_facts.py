"""Amounts and facts read from raw objects."""

from typing import Any

import pytest

from app.simulator.volcano.scheduler.pod_facts import read_pod, request_of
from app.simulator.volcano.scheduler.resources import read, short_of, write
from app.simulator.volcano.scheduler.statuses import status_of

GPU = "nvidia.com/gpu"


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


def test_units_are_those_of_volcano() -> None:
    quantities = {"cpu": "1500m", "memory": "4Gi", "pods": "3", GPU: "2", "ephemeral-storage": "1"}
    amounts = {"cpu": 1500.0, "memory": 4.0 * 2**30, "pods": 3.0, GPU: 2000.0, "ephemeral-storage": 1000.0}
    assert read(quantities) == amounts


def test_names_of_quotas_are_ignored() -> None:
    quantities = {"count/pods": "2", "requests.cpu": "2", "limits.nvidia.com/gpu": "1", "storage": "1", "pods": "2"}
    assert read(quantities) == {"pods": 2.0}


@pytest.mark.parametrize(
    ("amounts", "text"),
    [
        ({}, {"cpu": "0", "memory": "0"}),
        ({"cpu": 1500.0, "memory": 2.0**30, GPU: 4000.0, "pods": 4.0}, {"cpu": "1500m", "memory": "1Gi"}),
        ({"cpu": 4_000_000.0, "memory": 1000.0, GPU: 4000.0, "pods": 4.0}, {"cpu": "4k", "memory": "1000"}),
    ],
)
def test_amounts_are_written_in_canonical_form(amounts: dict[str, float], text: dict[str, str]) -> None:
    rest = {name: "4" for name in amounts if name in (GPU, "pods")}
    assert write(amounts) == {**text, **rest}


def test_only_requested_dimensions_are_compared_and_pods_never() -> None:
    request = {GPU: 1000.0, "pods": 1.0, "cpu": 0.0}
    assert short_of({GPU: 4000.1, "pods": 9.0, "cpu": 9.0}, {GPU: 4000.0}, request) == [GPU]
    assert short_of({GPU: 4000.0, "pods": 9.0, "cpu": 9.0}, {GPU: 4000.0}, request) == []


def test_init_containers_and_sidecars_count_as_kubernetes_says() -> None:
    spec = {
        "containers": [container("1"), container("500m")],
        "initContainers": [container("1", restartPolicy="Always"), container("3")],
        "overhead": {"cpu": "250m"},
    }
    assert request_of(spec) == {"cpu": 4250.0, "pods": 1.0}
    spec["initContainers"] = [container("1"), container("1", restartPolicy="Always")]
    assert request_of(spec) == {"cpu": 2750.0, "pods": 1.0}


@pytest.mark.parametrize(
    ("phase", "node", "deleted", "status"),
    [
        ("Pending", "", False, "Pending"),
        ("Pending", "gpu-1", False, "Bound"),
        ("Pending", "gpu-1", True, "Releasing"),
        ("Running", "gpu-1", False, "Running"),
        ("Running", "gpu-1", True, "Releasing"),
        ("Failed", "gpu-1", True, "Failed"),
        ("Succeeded", "gpu-1", False, "Succeeded"),
        ("Unknown", "gpu-1", False, "Unknown"),
    ],
)
def test_status_of_a_task(phase: str, node: str, deleted: bool, status: str) -> None:
    metadata = {"deletionTimestamp": "2026-08-20T10:00:00Z"} if deleted else {}
    assert status_of({"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}) == status


def test_task_priority_annotation_wins() -> None:
    metadata = {"namespace": "team", "name": "a", "annotations": {"volcano.sh/task-priority": "0"}}
    pod = {"metadata": metadata, "spec": {"priority": 7, "containers": []}, "status": {}}
    assert read_pod(pod).priority == 0
    del metadata["annotations"]
    assert read_pod(pod).priority == 7
