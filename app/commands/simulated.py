"""The simulated cluster as a part of a command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from app.commands.failure import CommandFailed
from app.commands.node_shape import NodeShape
from app.simulator.cluster import SimulatedCluster, SimulatorSettings


@asynccontextmanager
async def simulated_cluster(
    shape: NodeShape,
    *,
    speed: float,
    state: Path | None,
    host: str = "127.0.0.1",
    port: int = 0,
    schedule_period_seconds: float = 1.0,
    scheduler_config: Path | None = None,
) -> AsyncIterator[SimulatedCluster]:
    """Run a simulated cluster; with `state` its objects are kept in that directory.

    Raises:
        CommandFailed: its port is in use, or its state cannot be read.
    """
    settings = SimulatorSettings(
        nodes=shape.nodes,
        gpus_per_node=shape.gpus_per_node,
        speed=speed,
        host=host,
        port=port,
        schedule_period_seconds=schedule_period_seconds,
        scheduler_config=scheduler_config,
    )
    try:
        cluster = SimulatedCluster(replace(settings, data_path=state))
        await cluster.__aenter__()
    except (OSError, ValueError, KeyError) as error:
        raise CommandFailed(
            f"The simulated cluster does not start on port {port} with its state in {state}: {type(error).__name__}."
        ) from error
    try:
        yield cluster
    finally:
        await cluster.__aexit__(None, None, None)
