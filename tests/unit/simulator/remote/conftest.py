"""A simulated API server without Volcano, and `Objects` that reach it over HTTP only."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.kinds import NAMESPACE
from app.simulator.remote.connection import open_connection
from app.simulator.remote.http_objects import HttpObjects


@pytest.fixture
async def cluster() -> AsyncIterator[SimulatedCluster]:
    async with SimulatedCluster(SimulatorSettings(nodes=2, gpus_per_node=2, speed=10, volcano=False)) as cluster:
        yield cluster


@pytest.fixture
async def objects(cluster: SimulatedCluster, tmp_path: Path) -> AsyncIterator[HttpObjects]:
    kubeconfig = cluster.kubeconfig(tmp_path / "kubeconfig")
    async with open_connection(str(kubeconfig)) as connection:
        objects = HttpObjects(connection)
        await objects.create(NAMESPACE, {"metadata": {"name": "team"}})
        yield objects
