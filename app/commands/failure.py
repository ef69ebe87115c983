"""How a command says that it cannot go on: one sentence, exit code 1, no traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from app.commands.stopping import Stopped

_INTERRUPTED = 130  # what a shell shows for a program that ended by Ctrl-C


class CommandFailed(Exception):
    """The command cannot go on. The message is one sentence for the person at the terminal, without secrets."""


@contextmanager
def failures_in_one_sentence() -> Iterator[None]:
    """Print `CommandFailed` as its sentence on stderr and end with exit code 1; `Stopped` ends with 130."""
    try:
        yield
    except CommandFailed as error:
        typer.echo(f"pumice: {error}", err=True)
        raise typer.Exit(1) from None
    except Stopped:
        raise typer.Exit(_INTERRUPTED) from None
