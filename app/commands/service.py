"""The whole service in one process and event loop: database, cluster, API, controller. `up` and `demo` run it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socket import socket

from pydantic import SecretStr

from app.cluster.client import ClusterSettings, open_client
from app.cluster.errors import ClusterNotConfigured
from app.cluster.opening import lazy_pod_logs
from app.commands.cluster_choice import by_kubeconfig, named_cluster
from app.commands.configuration import is_given, load_settings
from app.commands.data_directory import DataDirectory, locked
from app.commands.database import clear, embedded, migrated
from app.commands.failure import CommandFailed
from app.commands.http_server import address_of, bind, serving
from app.commands.logs import log_to_file
from app.commands.node_shape import NodeShape, parse_nodes
from app.commands.parts import ready_or_failed, running, until_stopped
from app.commands.readiness import until_ready
from app.commands.scheduler_configuration import check_scheduler_configuration
from app.commands.simulated import simulated_cluster
from app.commands.stopping import Stopping
from app.controller.run import run_controller
from app.failpoints import arm_kill
from app.main import close_streams, create_app
from app.settings import Settings
from app.wiring import open_resources

_ONE_PROCESS_LEASE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """What the command line says. With `own` the embedded parts are used whatever the environment names."""

    data_directory: Path
    port: int | None = None
    admin_token: str | None = None
    nodes: str = "3x2"
    speed: float = 1.0
    fresh: bool = False
    own: bool = False
    scheduler_config: Path | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """A service that is ready. `database` and `cluster` say in words which ones it uses."""

    url: str
    token: str
    token_is_a_setting: bool
    database: str
    cluster: str
    log: Path
    stopping: Stopping
    parts: tuple["asyncio.Task[None]", ...]

    async def until_stopped(self) -> None:
        """Wait for Ctrl-C.

        Raises:
            CommandFailed: a part ended by itself.
        """
        await until_stopped(self.stopping, *self.parts)


@asynccontextmanager
async def running_service(options: ServiceOptions, stopping: Stopping) -> AsyncIterator[Service]:
    """Start everything, wait until it is ready, and stop everything at the end.

    Raises:
        CommandFailed: a part does not start.
        Stopped: Ctrl-C came before all was ready.
    """
    shape = parse_nodes(options.nodes)
    check_scheduler_configuration(options.scheduler_config)
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(locked(options.data_directory))
        settings = load_settings(port=options.port, admin_token=options.admin_token)
        log_to_file(directory.log, settings.log_format, settings.log_level)
        arm_kill(settings.failpoints)
        # the port first: it is the likeliest thing to be missing, and nothing has to be stopped again
        listening = stack.enter_context(bind(settings.host, settings.port))
        if options.fresh:
            await asyncio.to_thread(clear, directory)
        settings, from_setting = _with_token(settings, options, directory)
        settings, database = await stack.enter_async_context(_database(settings, options, directory, stopping))
        reach, cluster, inside = await stack.enter_async_context(_cluster(settings, options, directory, shape))
        stopping.check()
        parts = (*inside, *await _start_parts(stack, settings, reach, listening, stopping))
        url = address_of(listening)
        await ready_or_failed(stopping, until_ready(url), *parts)
        yield Service(
            url=url,
            token=settings.admin_token.get_secret_value() if settings.admin_token else "",
            token_is_a_setting=from_setting,
            database=database,
            cluster=cluster,
            log=directory.log,
            stopping=stopping,
            parts=parts,
        )


async def _start_parts(
    stack: AsyncExitStack, settings: Settings, reach: ClusterSettings, listening: socket, stopping: Stopping
) -> tuple["asyncio.Task[None]", ...]:
    resources = await stack.enter_async_context(open_resources(settings))
    await stopping.unless_asked(migrated(resources.engine))
    try:
        client = await stack.enter_async_context(open_client(reach))
    except ClusterNotConfigured as error:
        raise CommandFailed(str(error)) from error

    async def control(stop: asyncio.Event) -> None:
        await run_controller(settings, resources.sessions, resources.engine, client, stop=stop)

    controller = await stack.enter_async_context(running("controller", control, stopping))
    logs = await stack.enter_async_context(lazy_pod_logs(reach, streams=settings.log_max_streams))
    app = create_app(settings, resources.sessions, logs)
    serve = serving(app, listening, on_stop=partial(close_streams, app))
    api = await stack.enter_async_context(running("API", serve, stopping))
    return controller, api


def _with_token(settings: Settings, options: ServiceOptions, directory: DataDirectory) -> tuple[Settings, bool]:
    """The settings with an admin token, and whether it is one of the environment, which we do not print."""
    given = settings.admin_token is not None and bool(settings.admin_token.get_secret_value())
    if given and (options.admin_token or not options.own):
        return settings, options.admin_token is None
    token = SecretStr(directory.kept_admin_token())
    return settings.model_copy(update={"admin_token": token}), False


@asynccontextmanager
async def _database(
    settings: Settings, options: ServiceOptions, directory: DataDirectory, stopping: Stopping
) -> AsyncIterator[tuple[Settings, str]]:
    if is_given(settings, "database_url") and not options.own:
        yield settings, "the PostgreSQL of PUMICE_DATABASE_URL"
        return
    if not is_given(settings, "leader_lease_seconds"):
        # there is no other controller: after a kill -9 nobody has to wait long for the dead leader's lease
        settings = settings.model_copy(update={"leader_lease_seconds": _ONE_PROCESS_LEASE_SECONDS})
    async with embedded(settings, directory.postgres, stopping) as settled:
        yield settled, f"embedded PostgreSQL in {directory.postgres}"


@asynccontextmanager
async def _cluster(
    settings: Settings, options: ServiceOptions, directory: DataDirectory, shape: NodeShape
) -> AsyncIterator[tuple[ClusterSettings, str, tuple["asyncio.Task[None]", ...]]]:
    """How to reach the cluster, in words which one it is, and the tasks that it consists of."""
    named = None if options.own else named_cluster(settings)
    if named is not None:
        words, reach = named
        if options.scheduler_config:
            raise CommandFailed(
                f"--scheduler-config is for a simulated scheduler; the cluster here is that of {words}."
            )
        yield reach, f"the cluster of {words}", ()
        return
    async with simulated_cluster(
        shape, speed=options.speed, state=directory.cluster_state, scheduler_config=options.scheduler_config
    ) as cluster:
        path = cluster.kubeconfig(directory.kubeconfig)
        size = f"{shape.nodes} nodes with {shape.gpus_per_node} GPUs each"
        yield by_kubeconfig(str(path)), f"simulated, {size}; kubectl --kubeconfig {path}", cluster.parts
