"""A receiver of webhooks on loopback that does what a test tells it to."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from standardwebhooks import Webhook

LIMIT_SECONDS = 30.0


@dataclass(frozen=True)
class Message:
    headers: dict[str, str]
    body: bytes
    path: str

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> Any:
        """The payload, if the official library of Standard Webhooks takes it with this secret."""
        return Webhook(secret).verify(self.body, self.headers)


@dataclass
class Receiver:
    """Answers each message with the next of `script`, and with `usual` when that is used up.

    An answer is a status, or a response, or a coroutine function that makes one.
    """

    script: list[Any] = field(default_factory=list)
    usual: Any = 204
    messages: list[Message] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    port: int = 0
    scheme: str = "http"
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def ids(self) -> list[str]:
        return [message.id for message in self.messages]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_SECONDS), self._changed:
            await self._changed.wait_for(condition)

    async def until_messages(self, count: int) -> list[Message]:
        await self.until(lambda: len(self.messages) >= count)
        return self.messages

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        async with self._changed:
            self.messages.append(Message(headers, body, request.path_qs))
            answer = self.script.pop(0) if self.script else self.usual
            self._changed.notify_all()
        try:
            return await self._answer(answer, request)
        finally:
            self.at_once -= 1

    async def _answer(self, answer: Any, request: web.Request) -> web.StreamResponse:
        if callable(answer):
            return await answer(request)
        return web.Response(status=answer) if isinstance(answer, int) else answer


@asynccontextmanager
async def receiving(tls: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[Receiver]:
    receiver = Receiver(scheme="https" if tls else "http", **options)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver._serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    receiver.port = runner.addresses[0][1]
    try:
        yield receiver
    finally:
        await runner.cleanup()


async def hang(request: web.Request) -> web.StreamResponse:
    """Answer nothing until the caller has gone."""
    await asyncio.Event().wait()
    raise AssertionError


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Close the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def answer_without_end(request: web.Request) -> web.StreamResponse:
    """A success whose body never ends."""
    response = web.StreamResponse(status=200)
    await response.prepare(request)
    while True:
        await response.write(b"x" * 65_536)
