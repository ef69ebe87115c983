"""`pumice api` and `pumice controller`: one part of the service each, over a given database and cluster."""

import asyncio
import gc
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from socket import socket

import typer
from fastapi import FastAPI

from app.cluster.client import open_client
from app.cluster.errors import ClusterNotConfigured
from app.cluster.opening import lazy_pod_logs
from app.commands.cluster_choice import named_cluster, needed_cluster
from app.commands.configuration import load_settings
from app.commands.failure import CommandFailed
from app.commands.http_server import address_of, bind, serving
from app.commands.parts import run, running, until_stopped
from app.commands.probes import create_metrics_app, create_probe_app
from app.commands.stopping import Stopping
from app.controller.run import run_controller
from app.failpoints import arm_kill
from app.main import close_streams, create_app
from app.settings import Settings
from app.telemetry import configure_logging
from app.wiring import open_resources


def serve_api(host: str | None, port: int | None) -> None:
    """Serve the API until it is told to stop. The database may be away at the start and come later."""
    settings = _prepared(load_settings(host=host, port=port))
    run(lambda stopping: _serve_api(settings, stopping))


def serve_controller() -> None:
    """Run the controller until it is told to stop."""
    settings = _prepared(load_settings())
    run(lambda stopping: _serve_controller(settings, stopping))


def _prepared(settings: Settings) -> Settings:
    configure_logging(settings.log_format, settings.log_level)
    arm_kill(settings.failpoints)
    return settings


async def _serve_api(settings: Settings, stopping: Stopping) -> None:
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(bind(settings.host, settings.port))
        resources = await stack.enter_async_context(open_resources(settings))
        parts = []
        if settings.metrics_port is not None:
            metrics = stack.enter_context(bind(settings.host, settings.metrics_port))
            parts.append(await _serve(stack, "metrics port", create_metrics_app(), metrics, stopping=stopping))
        named = named_cluster(settings)
        reach = None if named is None else named[1]
        logs = await stack.enter_async_context(lazy_pod_logs(reach, streams=settings.log_max_streams))
        app = create_app(settings, resources.sessions, logs)
        parts.append(await _serve(stack, "API", app, listening, stopping=stopping, on_stop=partial(close_streams, app)))
        # what was made up to here stays; each full collection would look through it again, for a tenth of a second
        gc.collect()
        gc.freeze()
        await until_stopped(stopping, *parts)


async def _serve_controller(settings: Settings, stopping: Stopping) -> None:
    async with AsyncExitStack() as stack:
        resources = await stack.enter_async_context(open_resources(settings))
        try:
            client = await stack.enter_async_context(open_client(needed_cluster(settings)))
        except ClusterNotConfigured as error:
            raise CommandFailed(str(error)) from error

        async def control(stop: asyncio.Event) -> None:
            await run_controller(settings, resources.sessions, resources.engine, client, stop=stop)

        parts = []
        if settings.controller_port is not None:
            listening = stack.enter_context(bind(settings.host, settings.controller_port))
            probes = create_probe_app(settings, resources.sessions)
            parts.append(await _serve(stack, "probe port", probes, listening, stopping=stopping))
        parts.append(await stack.enter_async_context(running("controller", control, stopping)))
        await until_stopped(stopping, *parts)


async def _serve(
    stack: AsyncExitStack,
    name: str,
    app: FastAPI,
    listening: socket,
    *,
    stopping: Stopping,
    on_stop: Callable[[], None] | None = None,
) -> "asyncio.Task[None]":
    """Serve an application until the stack closes, and say where: the port may have been a free one."""
    task = await stack.enter_async_context(running(name, serving(app, listening, on_stop=on_stop), stopping))
    typer.echo(f"{name} at {address_of(listening)}")
    return task
