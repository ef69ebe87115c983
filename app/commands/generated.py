"""Files that are generated from the code: print one, write it, or check that the committed one is the same."""

from pathlib import Path

import typer

from app.commands.failure import CommandFailed


def emit(text: str, path: Path, *, check: bool, write: bool, make: str) -> None:
    """Print the text; with `check` compare it with the committed file instead, with `write` write the file.

    Raises:
        CommandFailed: the committed file differs or is missing.
    """
    if check:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            raise CommandFailed(f"{path} is not what the code says; run `{make}` and commit it.")
        typer.echo(f"{path} is up to date.", err=True)
    elif write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    else:
        typer.echo(text, nl=False)
