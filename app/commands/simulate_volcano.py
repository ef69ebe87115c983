"""`pumice simulate --kubeconfig`: Volcano's part alone, on an API server where no Volcano is installed."""

from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import typer

from app.commands.configuration import load_settings
from app.commands.failure import CommandFailed
from app.commands.parts import run, until_stopped
from app.commands.scheduler_configuration import check_scheduler_configuration
from app.commands.stopping import Stopping
from app.simulator.remote.volcano import NotStarted, volcano_on
from app.simulator.volcano.settings import VolcanoSettings
from app.telemetry import configure_logging


@dataclass(frozen=True, slots=True)
class SimulateVolcanoOptions:
    """What the command line says. `senseless` names the options that were given and belong to a cluster of our own."""

    kubeconfig: Path
    schedule_period_seconds: float
    senseless: Collection[str]
    scheduler_config: Path | None = None


def simulate_volcano(options: SimulateVolcanoOptions) -> None:
    """Run until Ctrl-C.

    Raises:
        CommandFailed: an option makes no sense, or Volcano's part cannot work on that cluster.
    """
    if options.senseless:
        raise CommandFailed(
            f"{', '.join(options.senseless)} cannot be used with --kubeconfig: the API server, the nodes and the pods "
            "are then those of that cluster."
        )
    if not options.kubeconfig.is_file():
        raise CommandFailed(f"There is no kubeconfig {options.kubeconfig}.")
    check_scheduler_configuration(options.scheduler_config)
    settings = load_settings()
    configure_logging(settings.log_format, settings.log_level)
    run(lambda stopping: _simulate(options, stopping))


async def _simulate(options: SimulateVolcanoOptions, stopping: Stopping) -> None:
    settings = VolcanoSettings(
        schedule_period_seconds=options.schedule_period_seconds, scheduler_config=options.scheduler_config
    )
    volcano = volcano_on(str(options.kubeconfig), settings, typer.echo)
    try:
        async with AsyncExitStack() as stack:
            working = await stopping.unless_asked(stack.enter_async_context(volcano))
            typer.echo(f"Volcano's part (simulated) works on {working.server}")
            await until_stopped(stopping, *working.parts)
    except NotStarted as error:
        raise CommandFailed(str(error)) from error
