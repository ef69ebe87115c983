from decimal import Decimal
from typing import Any

import pytest

from app.jobs import charges


def test_counts_every_replica_of_every_task(spec: Any) -> None:
    two = {"gpus": 2}
    job = spec(tasks=[{"replicas": 3, "resources": two}, {"name": "b", "replicas": 2}], min_available=1)
    assert charges.of_job(job) == {"nvidia.com/gpu": 8}


def test_keeps_resources_apart(spec: Any) -> None:
    mig = {"gpus": 2, "gpu_resource": "nvidia.com/mig-1g.5gb"}
    job = spec(tasks=[{"resources": mig}, {"name": "b"}, {"name": "c", "resources": {"cpu": "1"}}])
    assert charges.of_job(job) == {"nvidia.com/mig-1g.5gb": 2, "nvidia.com/gpu": 1}


@pytest.mark.parametrize("resources", [{}, {"gpus": 0}, {"cpu": "64", "memory": "1Ti"}])
def test_charges_nothing_for_processors_and_memory(spec: Any, resources: Any) -> None:
    assert charges.of_job(spec(task={"resources": resources})) == {}


def test_adds_processors_and_memory_exactly(spec: Any) -> None:
    job = spec(tasks=[{"replicas": 3, "resources": {"cpu": "100m", "memory": ".5Gi"}}, {"name": "b", "resources": {}}])
    assert charges.compute_of_job(job) == {"cpu": Decimal("0.3"), "memory": Decimal(3 * 2**29)}


def test_never_counts_a_fraction_as_nothing(spec: Any) -> None:
    with pytest.raises(TypeError):
        charges.of_job(spec(task={"resources": {"gpus": "500m"}}))
