"""The HTTP server: authentication, faults, routing, errors."""

import asyncio
import logging
from collections import deque

from aiohttp import web

from app.simulator.access.attributes import User
from app.simulator.access.authorizer import Authorizer
from app.simulator.access.tokens import Tokens
from app.simulator.faults import Fault, Faults
from app.simulator.history import encode
from app.simulator.kinds import POD, SERVICE_ACCOUNT
from app.simulator.objects import ApiError
from app.simulator.refusals import bad_request, status_body
from app.simulator.registry import Registry
from app.simulator.rest.access import Gate
from app.simulator.rest.bodies import LARGEST_BODY_BYTES
from app.simulator.rest.discovery import discovery_answer, open_to_all
from app.simulator.rest.fault_routes import PREFIX, fault_answer
from app.simulator.rest.pages import Pages
from app.simulator.rest.paths import Target, is_core_group, parse
from app.simulator.rest.pod_logs import PodLogs
from app.simulator.rest.pods import Pods
from app.simulator.rest.resources import Resources, json_answer
from app.simulator.rest.reviews import review_answer, review_of
from app.simulator.rest.token_requests import token_answer
from app.simulator.rest.watching import Streams

_logger = logging.getLogger(__name__)
_REQUESTS_REMEMBERED = 10_000
_DISCONNECTED = 499
_POD_SUBRESOURCES = ("binding", "eviction", "log")


class ApiServer:
    """Serves a registry on 127.0.0.1 or another address."""

    def __init__(self, registry: Registry, *, token: str | None = None, host: str = "127.0.0.1", port: int = 0) -> None:
        pages, self._streams = Pages(registry.store), Streams(registry.store)
        self._registry = registry
        self._authorizer, self._tokens = Authorizer(registry.store), Tokens(registry.store)
        self._gate = Gate(self._authorizer, self._tokens, token)
        logs = PodLogs(registry)
        self.faults = Faults(registry.store, pages, self._streams, self._tokens, logs)
        self.faults.suspend, self.faults.resume = self._suspend, self._resume
        self.requests: deque[tuple[str, str, int]] = deque(maxlen=_REQUESTS_REMEMBERED)
        """The latest requests as (method, path, status), for tests that count."""
        self._resources = Resources(registry, pages, self._streams)
        self._pods = Pods(registry, self._resources, logs)
        self._host, self._port = host, port
        self._late: set[asyncio.Task[web.StreamResponse]] = set()
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None

    @property
    def url(self) -> str:
        """The address, once started."""
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen."""
        app = web.Application(client_max_size=LARGEST_BODY_BYTES + 1)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # A watch whose client has gone must end at once; writes are carried out without awaiting, so none is torn.
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await self._resume()

    async def stop(self) -> None:
        """End the watches and stop listening."""
        self.faults.cut_watches()
        self.faults.logs.cut()
        for late in self._late:
            late.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
        self._runner = self._site = None

    async def _suspend(self) -> None:
        if self._site is None or self._runner is None or self._runner.server is None:
            return
        await self._site.stop()
        self._site = None
        for connection in list(self._runner.server.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def _resume(self) -> None:
        if self._site is not None or self._runner is None:
            return
        self._site = web.TCPSite(self._runner, self._host, self._port, reuse_address=True)
        await self._site.start()
        if self._port == 0:
            self._port = int(self._runner.addresses[0][1])

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        status = _DISCONNECTED
        try:
            answer = await self._answer(request)
            status = answer.status
        except ApiError as refusal:
            answer = error_answer(refusal)
            status = answer.status
        except RecursionError:
            answer = error_answer(bad_request("the body is nested too deeply"))
            status = answer.status
        except ConnectionError:
            raise  # the client has gone: there is nobody to answer
        except Exception:
            _logger.exception("the simulated API server failed at a %s", request.method)
            answer = error_answer(ApiError(500, "InternalError", "Internal error occurred"))
            status = answer.status
        finally:
            self.requests.append((request.method, request.path, status))
        return answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        user = self._gate.admit(request, open_to_all=open_to_all(path))
        if path.startswith(PREFIX):
            return await fault_answer(request, self.faults)
        target = parse(path)
        if target is not None:
            if request.method in ("POST", "DELETE") and target.custom_everywhere:
                return no_such_path(path)
            return await self._answer_target(request, target)
        return await self._answer_about_itself(request, user)

    async def _answer_about_itself(self, request: web.Request, user: User) -> web.StreamResponse:
        review = review_of(request.path)
        if review is not None:
            return await review_answer(request, review, user, self._authorizer)
        known = discovery_answer(request)
        return no_such_path(request.path) if known is None else known

    async def _answer_target(self, request: web.Request, target: Target) -> web.StreamResponse:
        fault = self.faults.take(request.method, target)
        if fault is None:
            return await self._carry_out(request, target)
        return await self._carry_out_faulty(request, target, fault)

    async def _carry_out(self, request: web.Request, target: Target) -> web.StreamResponse:
        if target.kind is POD and target.subresource in _POD_SUBRESOURCES:
            return await self._pods.answer(request, target)
        if target.kind is SERVICE_ACCOUNT and target.subresource == "token":
            return await token_answer(request, target, self._registry, self._tokens)
        return await self._resources.answer(request, target)

    async def _carry_out_faulty(self, request: web.Request, target: Target, fault: Fault) -> web.StreamResponse:
        if fault.effect == "answer":
            raise fault.refusal()
        if fault.effect == "delay_before":
            await request.read()
            late = asyncio.get_running_loop().create_task(self._carry_out_late(request, target, fault.seconds))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
            return await asyncio.shield(late)  # it is done even when the client has given up meanwhile
        try:
            answer = await self._carry_out(request, target)
        except ApiError as refusal:
            answer = error_answer(refusal)
        if fault.effect == "delay_after":
            await asyncio.sleep(fault.seconds)
        elif request.transport is not None:
            request.transport.abort()
        return answer

    async def _carry_out_late(self, request: web.Request, target: Target, seconds: float) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        try:
            return await self._carry_out(request, target)
        except ApiError as refusal:
            return error_answer(refusal)


def error_answer(refusal: ApiError) -> web.Response:
    """A refusal as HTTP."""
    answer = json_answer(encode(status_body(refusal)), refusal.code)
    if "retryAfterSeconds" in refusal.details:
        answer.headers["Retry-After"] = str(refusal.details["retryAfterSeconds"])
    return answer


def no_such_path(path: str) -> web.Response:
    """404 of a path that nothing serves."""
    if is_core_group(path):
        return error_answer(ApiError(404, "NotFound", "the server could not find the requested resource"))
    return web.Response(status=404, text="404 page not found\n")
