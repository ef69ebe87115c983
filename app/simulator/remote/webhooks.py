"""The simulated Volcano's webhooks on a real API server: served, registered, tried, and removed again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from app.simulator.kinds import QUEUE
from app.simulator.objects import ApiError, Object
from app.simulator.remote.foreign import WEBHOOK_KINDS
from app.simulator.remote.http_objects import HttpObjects
from app.simulator.remote.webhook_configurations import NAME, webhook_configurations
from app.simulator.remote.webhook_server import WebhookServer
from app.simulator.volcano.admission_queues import HIERARCHY, HIERARCHY_WEIGHTS
from app.simulator.volcano.informer import Informer

_TRIAL_SECONDS = 15.0
_POLL_SECONDS = 0.1
_REMOVAL_SECONDS = 4.0

_REFUSED: Object = {
    "metadata": {
        "name": NAME,
        "annotations": {HIERARCHY: "root/trial", HIERARCHY_WEIGHTS: "1"},  # not as many parts as the other
    },
    "spec": {"weight": 1},
}
"""A Queue that Volcano's webhook refuses, and nobody else does."""

log = structlog.get_logger(__name__)


class Unreachable(Exception):
    """The API server cannot ask this process. The message is one sentence for the person at the terminal."""


@asynccontextmanager
async def webhooks(objects: HttpObjects, queues: Informer) -> AsyncIterator[None]:
    """Have the API server ask the simulated Volcano inside the block.

    Raises:
        Unreachable: the API server does not reach this process, or does not ask it.
        ApiError: the webhooks could not be registered.
    """
    server = WebhookServer(objects, queues)
    async with server.serving():
        try:
            for kind, configuration in webhook_configurations(server.url, server.certificate.pem):
                await objects.create(kind, configuration)
            await _until_asked(objects)
            yield
        finally:
            await _remove(objects)


async def _until_asked(objects: HttpObjects) -> None:
    """Wait until the API server has begun to ask, which is some moments after the registration."""
    answer = "it does not ask for admission"
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_TRIAL_SECONDS):
            while True:
                try:
                    await objects.create(QUEUE, _REFUSED, dry_run=True)
                except ApiError as refusal:
                    if "denied the request" in refusal.message:
                        return
                    answer = _told(refusal)
                await asyncio.sleep(_POLL_SECONDS)
    raise Unreachable(
        f"The API server cannot call this process, which must run on the same machine ({answer}); its webhooks are "
        "removed again."
    )


def _told(refusal: ApiError) -> str:
    if "failed calling webhook" in refusal.message:
        return "calling its webhooks failed"
    return f"it answers {refusal.code} to a trial Queue"


async def _remove(objects: HttpObjects) -> None:
    """Left behind, they would refuse every write of Jobs and Queues."""
    for kind in WEBHOOK_KINDS:
        try:
            async with asyncio.timeout(_REMOVAL_SECONDS):
                await objects.delete(kind, None, NAME)
        except (ApiError, TimeoutError) as error:
            if isinstance(error, ApiError) and error.reason == "NotFound":
                continue
            log.error(  # noqa: TRY400 - why is of no use to the reader
                "A webhook configuration is left on the cluster and refuses writes of Jobs and Queues. Delete it.",
                kind=kind.name,
                name=NAME,
            )
