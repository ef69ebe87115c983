"""The scheduler's configuration file, read again while the scheduler runs (volcano-facts 5.1)."""

from pathlib import Path

import structlog

from app.simulator.volcano.scheduler.configuration import (
    DEFAULT,
    Configuration,
    ConfigurationError,
    parse_configuration,
)
from app.simulator.volcano.scheduler.policy import Policy

log = structlog.get_logger(__name__)


def read_configuration(path: Path) -> Configuration:
    """Read a file.

    Raises:
        ConfigurationError: it cannot be read, or Volcano would refuse it.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The scheduler's configuration {path.name} cannot be read.") from error
    return parse_configuration(text)


class ConfigurationFile:
    """What a file says now. After an edit that Volcano would refuse, what it said before.

    Volcano falls back to a built-in configuration when the file is wrong at the start. Here that is an error, since
    nobody who names a file wants another one.
    """

    def __init__(self, path: Path | None) -> None:
        """Read the file for the first time; without one, the configuration is the one of Volcano's Helm chart.

        Raises:
            ConfigurationError: see `read_configuration`.
        """
        self._path = path
        self._refused = ""
        self._known = read_configuration(path) if path else DEFAULT
        self.policy = Policy(self._known)
        self._tell()

    def changed(self) -> bool:
        """Read the file again; whether there is a new policy."""
        if self._path is None:
            return False
        try:
            new = read_configuration(self._path)
        except ConfigurationError as error:
            self._refuse(str(error))
            return False
        self._refused = ""
        if new == self._known:
            return False
        self._known, self.policy = new, Policy(new)
        log.info("The scheduler has a new configuration.", actions=", ".join(new.actions))
        self._tell()
        return True

    def _refuse(self, why: str) -> None:
        """Say once that the present text is wrong."""
        if why != self._refused:
            log.error("The scheduler keeps its configuration, as the new one is wrong.", why=why)
            self._refused = why

    def _tell(self) -> None:
        for remark in self._known.remarks:
            log.warning("A part of the scheduler's configuration does nothing.", part=remark)
