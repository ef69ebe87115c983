"""The option `--scheduler-config`: a configuration file of Volcano's scheduler for the simulated one."""

from pathlib import Path

from app.commands.failure import CommandFailed
from app.simulator.volcano.scheduler.configuration import ConfigurationError
from app.simulator.volcano.scheduler.configuration_file import read_configuration


def check_scheduler_configuration(path: Path | None) -> None:
    """Make sure that a file says what the scheduler can use, before anything is started.

    Raises:
        CommandFailed: there is no such file, or Volcano would refuse it.
    """
    if path is None:
        return
    if not path.is_file():
        raise CommandFailed(f"There is no scheduler configuration {path}.")
    try:
        read_configuration(path)
    except ConfigurationError as error:
        raise CommandFailed(f"The scheduler configuration {path} is wrong: {error}") from error
