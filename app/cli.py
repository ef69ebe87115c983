"""`pumice`: the commands and their options. What they do is in `app.commands`.

Each command imports its own modules, so that `pumice --help` and the small commands do not load a web framework, a
database driver and a Kubernetes client first.
"""
# ruff: noqa: PLC0415 - the imports inside commands are the point, as said above

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from app.commands.failure import failures_in_one_sentence

app = typer.Typer(
    name="pumice",
    help="Submit batch jobs over HTTP to the Volcano scheduler.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Port = Annotated[int | None, typer.Option(help="Port of the API; 0 takes a free one.", min=0, max=65535)]
Nodes = Annotated[str, typer.Option(help="Simulated nodes and GPUs of each, for example 3x2.")]
Speed = Annotated[float, typer.Option(help="How many times faster than the clock the simulated cluster runs.", min=0.1)]
SchedulerConfig = Annotated[
    Path | None,
    typer.Option(help="Configuration file of Volcano's scheduler for the simulated one; edits are noticed."),
]
AdminToken = Annotated[str | None, typer.Option(help="Token with the role admin; a random one is made and kept.")]
Check = Annotated[bool, typer.Option("--check", help="Compare with the committed file; exit code 1 when they differ.")]
Write = Annotated[bool, typer.Option("--write", help="Write the file instead of printing it.")]


@app.command()
def up(
    *,
    port: Port = None,
    data_dir: Annotated[Path, typer.Option(help="Where the database and everything else is kept.")] = Path(".data"),
    admin_token: AdminToken = None,
    nodes: Nodes = "3x2",
    speed: Speed = 1.0,
    scheduler_config: SchedulerConfig = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what the data directory keeps first.")] = False,
) -> None:
    """Run everything in one process: PostgreSQL, a simulated cluster, the API and the controller.

    PUMICE_DATABASE_URL puts your own PostgreSQL in place of the embedded one; KUBECONFIG, PUMICE_KUBECONFIG or
    in-cluster credentials put a real cluster in place of the simulated one.
    """
    with failures_in_one_sentence():
        from app.commands.service import ServiceOptions
        from app.commands.up import up as run_up

        options = ServiceOptions(data_dir, port=port, admin_token=admin_token, nodes=nodes, speed=speed, fresh=fresh)
        run_up(replace(options, scheduler_config=scheduler_config))


@app.command()
def demo(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    port: Port = 0,
    data_dir: Annotated[Path | None, typer.Option(help="Unset uses a fresh directory, removed at the end.")] = None,
    seconds: Annotated[int, typer.Option(help="Run time of each job.", min=1, max=20)] = 4,
    url: Annotated[str | None, typer.Option(help="Use a running service instead of starting one.")] = None,
    token: Annotated[str | None, typer.Option(help="Admin token of the running service.")] = None,
    gpus_per_node: Annotated[int, typer.Option(help="GPUs of each node of the running service.", min=1)] = 2,
) -> None:
    """Play the scenario over HTTP: two queues, two teams, four jobs that compete for six GPUs."""
    with failures_in_one_sentence():
        from app.commands.demo import DemoOptions
        from app.commands.demo import demo as run_demo

        options = DemoOptions(as_json, port, data_dir, seconds, url, token, gpus_per_node)
        raise typer.Exit(run_demo(options))


@app.command()
def api(
    host: Annotated[str | None, typer.Option(help="Address that the API listens on.")] = None, port: Port = None
) -> None:
    """Serve the HTTP API alone."""
    with failures_in_one_sentence():
        from app.commands.serve import serve_api

        serve_api(host, port)


@app.command()
def controller() -> None:
    """Run the controller alone: it submits jobs to the cluster and watches them. Several may run; one leads."""
    with failures_in_one_sentence():
        from app.commands.serve import serve_controller

        serve_controller()


@app.command()
def migrate() -> None:
    """Bring the database to this release's schema."""
    with failures_in_one_sentence():
        from app.commands.migrate import migrate as run_migrate

        run_migrate()


_OF_A_CLUSTER_OF_OUR_OWN = ("host", "port", "nodes", "speed", "kubeconfig_out", "advertise", "data_dir")


@app.command()
def simulate(
    context: typer.Context,
    *,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(help="Run Volcano's part alone, on the cluster of this file; it must have no Volcano."),
    ] = None,
    schedule_period: Annotated[
        float, typer.Option(help="Seconds between two sessions of the scheduler.", min=0.01)
    ] = 1.0,
    scheduler_config: SchedulerConfig = None,
    host: Annotated[str, typer.Option(help="Address that the API server listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the API server; 0 takes a free one.", min=0, max=65535)] = 8081,
    nodes: Nodes = "3x2",
    speed: Speed = 1.0,
    kubeconfig_out: Annotated[Path | None, typer.Option(help="Write a kubeconfig for it to this file.")] = None,
    advertise: Annotated[str | None, typer.Option(help="HOST:PORT that the kubeconfig names instead.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Keep the cluster's objects in this directory.")] = None,
) -> None:
    """Run the simulated cluster alone: a Kubernetes API server with Volcano and GPU nodes, all simulated.

    With --kubeconfig only Volcano's part is simulated, on a real API server without a Volcano: controllers, scheduler
    and webhooks. Its nodes and pods belong to kwok or to kubelets, and the API server must run on this machine. It is
    for tests of what a real API server does, and is no Volcano for work that matters.
    """
    with failures_in_one_sentence():
        if kubeconfig is not None:
            from app.commands.simulate_volcano import SimulateVolcanoOptions, simulate_volcano

            simulate_volcano(SimulateVolcanoOptions(kubeconfig, schedule_period, _given(context), scheduler_config))
            return
        from app.commands.simulate import SimulateOptions
        from app.commands.simulate import simulate as run_simulate

        options = SimulateOptions(host, port, nodes, speed, kubeconfig_out, advertise, data_dir, schedule_period)
        run_simulate(replace(options, scheduler_config=scheduler_config))


def _given(context: typer.Context) -> list[str]:
    """Which options of a cluster of our own the command line names."""
    sources = {name: context.get_parameter_source(name) for name in _OF_A_CLUSTER_OF_OUR_OWN}
    return [
        f"--{name.replace('_', '-')}" for name, source in sources.items() if source and source.name == "COMMANDLINE"
    ]


@app.command()
def openapi(check: Check = False, write: Write = False) -> None:
    """Print the OpenAPI document, or compare it with openapi/openapi.json."""
    with failures_in_one_sentence():
        from app.commands import documents

        documents.openapi(check=check, write=write)


@app.command()
def settings(check: Check = False, write: Write = False) -> None:
    """Print every setting with its default as an .env file, or compare it with .env.example."""
    with failures_in_one_sentence():
        from app.commands import documents

        documents.settings(check=check, write=write)


@app.command()
def problems(check: Check = False, write: Write = False) -> None:
    """Print every problem type that an answer may have, or compare it with docs/problems.md."""
    with failures_in_one_sentence():
        from app.commands import documents

        documents.problems(check=check, write=write)


def main() -> None:
    """Entry point of the `pumice` script."""
    app()


if __name__ == "__main__":
    main()
