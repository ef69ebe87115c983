from typing import Any

import pytest

from app.jobs.placement import Excess, excess

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("changes", "capability", "found"),
    [
        ({"task": {"replicas": 4}}, {GPU: "4"}, None),
        ({"task": {"replicas": 5}}, {GPU: "4"}, Excess(GPU, 4, 5)),
        ({"task": {"replicas": 5}}, {}, None),
        ({"task": {"replicas": 5}}, {"amd.com/gpu": "1"}, None),
        # a gang that fits runs in turns
        ({"task": {"replicas": 5}, "min_available": 4}, {GPU: "4"}, None),
        ({"task": {"replicas": 5}, "min_available": 1}, {GPU: "0"}, Excess(GPU, 0, 1)),
        # one pod is too large, whatever the gang is
        ({"tasks": [{}, {"name": "b", "resources": {"gpus": 5}}], "min_available": 1}, {GPU: "4"}, Excess(GPU, 4, 5)),
        # the gang's smallest pods
        ({"tasks": [{"replicas": 2}, {"name": "b", "resources": {"gpus": 4}}], "min_available": 2}, {GPU: "4"}, None),
        ({"tasks": [{"replicas": 2}, {"name": "b", "resources": {"gpus": 4}}]}, {GPU: "4"}, Excess(GPU, 4, 6)),
        # a task that waits for another need not fit beside it
        ({"tasks": [{"name": "a"}, {"name": "b", "depends_on": ["a"], "resources": {"gpus": 4}}]}, {GPU: "4"}, None),
        ({"task": {"replicas": 2}}, {"cpu": "7500m"}, Excess("cpu", "7500m", 8)),
        ({"task": {"replicas": 2}}, {"memory": "32Gi"}, None),
        ({"task": {"resources": {}}}, {GPU: "0", "cpu": "0"}, None),
    ],
)  # fmt: skip
def test_compares_what_runs_at_once_with_the_capability(
    spec: Any, changes: dict[str, Any], capability: dict[str, str], found: Any
) -> None:
    assert excess(spec(**changes), capability) == found


def test_says_the_numbers(spec: Any) -> None:
    found = excess(spec(task={"replicas": 5}), {GPU: "4"})
    assert found is not None
    assert "5 nvidia.com/gpu" in found.sentence
    assert "at most 4" in found.sentence
