"""A scripted API server on loopback: each path gives the answers of the test in order, the last one for ever."""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from app.cluster.client import ClusterClient, ClusterSettings, open_client
from app.cluster.volcano import Volcano
from tests.unit.cluster.informer_scene import Recorder

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Received:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class ScriptedServer:
    url: str = ""
    requests: list[Received] = field(default_factory=list)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    _answers: dict[tuple[str, str], deque[Handler]] = field(default_factory=lambda: defaultdict(deque))

    def answer(self, method: str, path: str, *handlers: Handler) -> None:
        self._answers[method, path].extend(handlers)

    def json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            text = body if isinstance(body, str) else json.dumps(body)
            return web.Response(status=status, text=text, headers=headers, content_type="application/json")

        return handle

    def refusal(self, code: int, reason: str, message: str = "", headers: dict[str, str] | None = None) -> Handler:
        body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
        return self.json(code, body, headers)

    def stream(self, *chunks: Any, then: str = "end") -> Handler:
        """Send chunks (objects are sent as lines), then `end` well, `hang` without a word, or `cut` the connection."""

        async def handle(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            for chunk in chunks:
                await response.write(chunk if isinstance(chunk, bytes) else json.dumps(chunk).encode() + b"\n")
            if then == "hang":
                await self.closing.wait()
            if then == "cut":
                request.transport.abort()
            return response

        return handle

    async def hang(self, request: web.Request) -> web.StreamResponse:
        await self.closing.wait()
        return web.Response(status=500)

    async def drop(self, request: web.Request) -> web.StreamResponse:
        request.transport.abort()
        return web.Response(status=500)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        self.requests.append(
            Received(
                request.method,
                request.path,
                dict(request.query),
                dict(request.headers),
                json.loads(content) if content else None,
            )
        )
        answers = self._answers[request.method, request.path]
        if not answers:
            return await self.refusal(404, "NotFound", "the script has no answer")(request)
        handler = answers.popleft() if len(answers) > 1 else answers[0]
        return await handler(request)


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    scripted = ScriptedServer()
    application = web.Application(client_max_size=2**24)
    application.router.add_route("*", "/{path:.*}", scripted.handle)
    async with TestServer(application) as running:
        scripted.url = str(running.make_url("")).rstrip("/")
        yield scripted
        scripted.closing.set()


@pytest.fixture
async def client(server: ScriptedServer) -> AsyncIterator[ClusterClient]:
    async with open_client(ClusterSettings(url=server.url, token="secret-token")) as opened:
        yield opened


@pytest.fixture
def volcano(client: ClusterClient) -> Volcano:
    return Volcano(client)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()
