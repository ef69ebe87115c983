"""The HTTPS server that answers an API server's AdmissionReviews."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import structlog
from aiohttp import web

from app.simulator.kinds import QUEUE
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.remote.certificate import Certificate, make_certificate
from app.simulator.remote.reviews import Step, answer, is_denial
from app.simulator.volcano.informer import Informer

ADDRESS = "127.0.0.1"
HEALTH = "/healthz"

_LARGEST_REVIEW_BYTES = 8 * 2**20
"""An API server's request may have 3 MiB, and a review holds the object before and after."""
_SHUTDOWN_SECONDS = 0.5

log = structlog.get_logger(__name__)


class WebhookServer:
    """Volcano's webhooks at `url`. Each resource has the paths of the real one: `/jobs/mutate`, `/jobs/validate`, ...

    Queues are read from an informer, as Volcano reads its lister. A refusal is judged again with a fresh list, so that
    what was written a moment before is seen; real webhooks are a little behind, too, but nobody should meet that here.
    """

    def __init__(self, objects: Objects, queues: Informer) -> None:
        self._objects = objects
        self._queues = queues
        self.certificate: Certificate = make_certificate(ADDRESS)
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Listen on a free port of the loopback address inside the block."""
        application = web.Application(client_max_size=_LARGEST_REVIEW_BYTES)
        application.router.add_get(HEALTH, _healthy)
        application.router.add_post("/{resource}/{step:mutate|validate}", self._review)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            site = web.TCPSite(runner, ADDRESS, 0, ssl_context=self.certificate.context)
            await site.start()
            port = runner.addresses[0][1]
            self.url = f"https://{ADDRESS}:{port}"
            yield
        finally:
            await runner.cleanup()

    async def _review(self, request: web.Request) -> web.Response:
        step: Step = "mutate" if request.match_info["step"] == "mutate" else "validate"
        try:
            review = await request.json()
            reviewed = answer(review, step, self._known())
            if is_denial(reviewed):
                reviewed = answer(review, step, await self._fresh())
        except (ValueError, KeyError, TypeError, AttributeError):
            log.exception("A request for admission could not be judged.")
            return web.Response(status=500, text="The request for admission could not be judged.")
        return web.json_response(reviewed)

    def _known(self) -> Mapping[str, Object]:
        return {queue["metadata"]["name"]: queue for queue in self._queues.items.values()}

    async def _fresh(self) -> Mapping[str, Object]:
        try:
            async with asyncio.timeout(2.0):
                queues = await self._objects.list(QUEUE)
        except (ApiError, TimeoutError):
            return self._known()
        return {queue["metadata"]["name"]: queue for queue in queues}


async def _healthy(_request: web.Request) -> web.Response:
    return web.Response(text="ok")
