"""`pumice demo`: the whole service, the scenario over HTTP, and what it proves."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import typer
from rich.console import Console
from rich.live import Live

from app.commands.demo_checks import Evidence, judge
from app.commands.demo_client import open_client
from app.commands.demo_evidence import Sample
from app.commands.demo_play import samples, submit_all, team_clients
from app.commands.demo_report import report
from app.commands.demo_view import live_view, proof_view, state_changes
from app.commands.failure import CommandFailed
from app.commands.parts import run
from app.commands.service import ServiceOptions, running_service
from app.commands.stopping import Stopping

_GPUS_PER_NODE = 2
_NODES = f"3x{_GPUS_PER_NODE}"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the command line says. With `url` and `token` a running service plays, and nothing is started."""

    as_json: bool
    port: int | None
    data_directory: Path | None
    seconds: int
    url: str | None
    token: str | None
    gpus_per_node: int


def demo(options: DemoOptions) -> int:
    """Play the scenario; returns the exit code: 0 when every check is true."""
    if (options.url is None) != (options.token is None):
        raise CommandFailed("--url and --token go together.")
    console = Console(stderr=options.as_json)
    if options.url is not None and options.token is not None:
        return _finish(_elsewhere(options.url, options.token, options, console), options, console)
    with _data_directory(options.data_directory) as data:
        exit_code = _finish(run(lambda stopping: _here(data, options, console, stopping)), options, console)
        if exit_code:
            raise CommandFailed("Not every check is true.")
        return exit_code


def _finish(evidence: Evidence, options: DemoOptions, console: Console) -> int:
    verdicts = judge(evidence)
    if options.as_json:
        typer.echo(json.dumps(report(evidence.samples, verdicts), default=_json_form))
    else:
        console.print(proof_view(verdicts, evidence.end))
    return 0 if all(verdict.ok for verdict in verdicts) else 1


def _elsewhere(url: str, token: str, options: DemoOptions, console: Console) -> Evidence:
    found = run(lambda stopping: stopping.unless_asked(_play(url, token, options, console)))
    return Evidence(found, options.gpus_per_node)


async def _here(data: Path, options: DemoOptions, console: Console, stopping: Stopping) -> Evidence:
    console.print("Starting PostgreSQL, a simulated cluster, the API and the controller ...")
    service_options = ServiceOptions(data, port=options.port, nodes=_NODES, own=True)
    async with running_service(service_options, stopping) as service:
        console.print(f"Ready at {service.url}; from here on only its HTTP API is used.")
        found = await stopping.unless_asked(_play(service.url, service.token, options, console))
    return Evidence(found, _GPUS_PER_NODE)


async def _play(url: str, token: str, options: DemoOptions, console: Console) -> list[Sample]:
    found: list[Sample] = []
    async with open_client(url, token) as admin, team_clients(admin) as clients:
        ids = await submit_all(clients, options.seconds)
        with _shown(console, options) as show:
            async for sample in samples(admin, ids):
                show(found[-1] if found else None, sample)
                found.append(sample)
    return found


@contextmanager
def _shown(console: Console, options: DemoOptions) -> Iterator[Callable[[Sample | None, Sample], None]]:
    """Show samples as a live picture; as a line for each change where the output is a file or JSON."""
    if console.is_terminal and not options.as_json:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda _, now: live.update(live_view(now, options.gpus_per_node), refresh=True)
        return

    def print_changes(before: Sample | None, now: Sample) -> None:
        for line in state_changes(before, now):
            console.print(line, highlight=False)

    yield print_changes


@contextmanager
def _data_directory(given: Path | None) -> Iterator[Path]:
    """The given directory, or a fresh one that is removed at the end; after a failure its log stays."""
    data = given or Path(tempfile.mkdtemp(prefix="pumice-demo-"))
    try:
        yield data
    except CommandFailed as error:
        if given is None:
            for directory in (path for path in data.iterdir() if path.is_dir()):
                shutil.rmtree(directory, ignore_errors=True)
        raise CommandFailed(f"{error} The log is in {data}.") from error
    except BaseException:
        _remove(data, given)
        raise
    _remove(data, given)


def _remove(data: Path, given: Path | None) -> None:
    if given is None:
        shutil.rmtree(data, ignore_errors=True)


def _json_form(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(type(value).__name__)
