"""`pumice simulate`: the simulated cluster alone, for `kubectl`, for the parts run one by one, and for containers."""

from dataclasses import dataclass
from pathlib import Path

import typer
import yaml

from app.commands.configuration import load_settings
from app.commands.node_shape import NodeShape, parse_nodes
from app.commands.parts import run, until_stopped
from app.commands.scheduler_configuration import check_scheduler_configuration
from app.commands.simulated import simulated_cluster
from app.commands.stopping import Stopping
from app.simulator.cluster import SimulatedCluster
from app.telemetry import configure_logging


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """What the command line says. `advertise` is HOST:PORT at which others reach the cluster."""

    host: str
    port: int
    nodes: str
    speed: float
    kubeconfig_out: Path | None
    advertise: str | None
    data_directory: Path | None
    schedule_period_seconds: float = 1.0
    scheduler_config: Path | None = None


def simulate(options: SimulateOptions) -> None:
    """Run until Ctrl-C."""
    settings = load_settings()
    configure_logging(settings.log_format, settings.log_level)
    shape = parse_nodes(options.nodes)
    check_scheduler_configuration(options.scheduler_config)
    if options.data_directory is not None:
        options.data_directory.mkdir(parents=True, exist_ok=True)
    run(lambda stopping: _simulate(options, shape, stopping))


async def _simulate(options: SimulateOptions, shape: NodeShape, stopping: Stopping) -> None:
    async with simulated_cluster(
        shape,
        speed=options.speed,
        state=options.data_directory,
        host=options.host,
        port=options.port,
        schedule_period_seconds=options.schedule_period_seconds,
        scheduler_config=options.scheduler_config,
    ) as cluster:
        typer.echo(f"Simulated cluster ({shape.nodes} nodes with {shape.gpus_per_node} GPUs each) at {cluster.url}")
        if options.kubeconfig_out is not None:
            _write_kubeconfig(cluster, options.kubeconfig_out, options.advertise)
            typer.echo(f"  kubectl --kubeconfig {options.kubeconfig_out} get nodes")
        await until_stopped(stopping, *cluster.parts)


def _write_kubeconfig(cluster: SimulatedCluster, path: Path, advertise: str | None) -> None:
    cluster.kubeconfig(path)
    if advertise is not None:
        config = yaml.safe_load(path.read_text())
        config["clusters"][0]["cluster"]["server"] = f"http://{advertise}"
        path.write_text(yaml.safe_dump(config, sort_keys=False))
    path.chmod(0o644)  # there is no secret in it, and the container next door runs as another user
