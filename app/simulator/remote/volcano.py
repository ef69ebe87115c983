"""Volcano's part of the simulated cluster on the API server of a kubeconfig, as one thing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.simulator.clock import Clock
from app.simulator.kinds import NAMESPACE, QUEUE
from app.simulator.objects import ApiError
from app.simulator.remote.connection import Connection, NoCluster, open_connection
from app.simulator.remote.definitions import install_missing
from app.simulator.remote.foreign import Occupied, require_no_volcano
from app.simulator.remote.http_objects import HttpObjects
from app.simulator.remote.webhooks import Unreachable, webhooks
from app.simulator.volcano.informer import Informer
from app.simulator.volcano.queue_controller import state_of
from app.simulator.volcano.run import VolcanoSettings, run_volcano

_POLL_SECONDS = 0.05


class NotStarted(Exception):
    """Volcano's part cannot work on that cluster. The message is one sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class RemoteVolcano:
    """What works: the address of the API server, and the tasks, none of which ends by itself unless it fails."""

    server: str
    parts: tuple["asyncio.Task[None]", ...]


@asynccontextmanager
async def volcano_on(
    kubeconfig: str, settings: VolcanoSettings, tell: Callable[[str], None]
) -> AsyncIterator[RemoteVolcano]:
    """Run Volcano's controllers, scheduler and webhooks inside the block.

    Args:
        kubeconfig: path of the file; its current context is used.
        settings: see `VolcanoSettings`.
        tell: gets a sentence about whatever is put into the cluster to stay.

    Raises:
        NotStarted: the cluster cannot be reached, has a Volcano, or refuses what is needed.
    """
    try:
        async with open_connection(kubeconfig) as connection:
            try:
                async with _working(connection, settings, tell) as parts:
                    started = RemoteVolcano(connection.server, parts)
                    yield started
            except ApiError as refusal:
                raise NotStarted(f"The cluster at {connection.server} refuses: {refusal.message}") from refusal
    except (NoCluster, Occupied, Unreachable) as error:
        raise NotStarted(str(error)) from error


@asynccontextmanager
async def _working(
    connection: Connection, settings: VolcanoSettings, tell: Callable[[str], None]
) -> AsyncIterator[tuple["asyncio.Task[None]", ...]]:
    objects = HttpObjects(connection)
    await objects.get(NAMESPACE, None, "default")
    await require_no_volcano(objects)
    created = await install_missing(objects)
    if created:
        tell(f"Installed the CustomResourceDefinitions {', '.join(created)}; they stay.")
    # calls of the webhooks must not wait for calls that wait for the webhooks: they have a connection of their own
    asking = HttpObjects(connection.another())
    queues = Informer(asking, QUEUE, Clock())
    await queues.fill()
    lister = asyncio.create_task(queues.run(), name="list of queues")
    try:
        async with webhooks(asking, queues):
            volcano = asyncio.create_task(run_volcano(objects, Clock(), settings), name="simulated Volcano")
            try:
                await _until_open(queues, volcano)
                yield volcano, lister
            finally:
                await _end(volcano)
    finally:
        await _end(lister)


async def _until_open(queues: Informer, volcano: "asyncio.Task[None]") -> None:
    """Wait until Jobs can be submitted, which is when the queue controller has opened the first Queue."""
    while not volcano.done():
        queue = queues.named("default")
        if queue is not None and state_of(queue):
            return
        await asyncio.sleep(_POLL_SECONDS)
    await volcano


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
