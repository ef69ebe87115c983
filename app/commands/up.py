"""`pumice up`: run the whole service until Ctrl-C, and say how to reach it."""

import shlex
from contextlib import suppress

import typer

from app.commands.parts import run
from app.commands.service import Service, ServiceOptions, running_service
from app.commands.stopping import Stopped, Stopping


def up(options: ServiceOptions) -> None:
    """Run until Ctrl-C, which is a good end: exit code 0."""
    with suppress(Stopped):
        run(lambda stopping: _up(options, stopping))
    typer.echo("Stopped.")


async def _up(options: ServiceOptions, stopping: Stopping) -> None:
    typer.echo("Starting ...")
    async with running_service(options, stopping) as service:
        typer.echo(greeting(service))
        await service.until_stopped()
        typer.echo("Stopping ... (Ctrl-C again stops at once)")


def greeting(service: Service) -> str:
    """Where everything is, and a first request that works as it is printed."""
    # a token of the environment is in the person's shell already, and not for the log of a terminal
    token = "$PUMICE_ADMIN_TOKEN" if service.token_is_a_setting else service.token
    header = f"Authorization: Bearer {token}"
    quoted = f'"{header}"' if service.token_is_a_setting else shlex.quote(header)
    return "\n".join(
        [
            f"Database  {service.database}",
            f"Cluster   {service.cluster}",
            f"Log       {service.log}",
            f"API       {service.url} (docs at {service.url}/docs)",
            "Ready. Ctrl-C stops it. A first request:",
            "",
            f"  curl -s -H {quoted} {service.url}/v1/queues",
            "",
        ]
    )
