"""Reading a stream of server-sent events over a real connection, block by block."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from fastapi import FastAPI

from app.commands.http_server import address_of, bind, serving
from app.commands.parts import running
from app.commands.stopping import Stopping

PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Block:
    """What stands between two empty lines."""

    id: str | None
    event: str | None
    data: Any
    comment: str | None
    retry: int | None

    @property
    def is_event(self) -> bool:
        return self.data is not None


def parse(text: str) -> Block:
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        assert name not in fields, f"{name!r} stands twice in one block"
        fields[name] = value.removeprefix(" ")
    assert fields.keys() <= {"", "id", "event", "data", "retry"}
    data, retry = fields.get("data"), fields.get("retry")
    return Block(
        id=fields.get("id"),
        event=fields.get("event"),
        data=None if data is None else json.loads(data),
        comment=fields.get(""),
        retry=None if retry is None else int(retry),
    )


class Stream:
    """An open stream. `position` is what a browser would send as `Last-Event-ID`."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self.position: str | None = None
        self._blocks = self._read()

    async def _read(self) -> AsyncIterator[Block]:
        text = ""
        async for chunk in self.answer.aiter_text():
            text += chunk
            *whole, text = text.split("\n\n")
            for each in whole:
                block = parse(each)
                self.position = self.position if block.id is None else block.id
                yield block
        assert text == ""

    async def block(self) -> Block:
        """The next block, whatever it is."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await anext(self._blocks)

    async def events(self, count: int) -> list[Block]:
        """The next so many events."""
        found: list[Block] = []
        while len(found) < count:
            block = await self.block()
            found += [block] if block.is_event else []
        return found

    async def until(self, holds: Callable[[Block], bool]) -> list[Block]:
        """The next events up to the first for which this holds."""
        found = await self.events(1)
        while not holds(found[-1]):
            found += await self.events(1)
        return found

    async def rest(self) -> list[Block]:
        """Every event until the server ends the stream."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return [block async for block in self._blocks if block.is_event]


@asynccontextmanager
async def opened(
    client: httpx.AsyncClient, path: str, *, last: str | None = None, **query: Any
) -> AsyncIterator[Stream]:
    """A stream that was answered with 200 and has sent its first block; `last` is its `Last-Event-ID`."""
    headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
    async with client.stream("GET", path, params=query, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        stream = Stream(answer)
        first = await stream.block()
        assert not first.is_event
        yield stream


class Server:
    """The application behind a real socket, stopped as a command stops it."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.url = ""
        self._clients: list[httpx.AsyncClient] = []

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        bound = bind("127.0.0.1", 0)
        self.url = address_of(bound)
        part = serving(self.app, bound, on_stop=self.app.state.feed.close)
        async with running("API", part, Stopping()):
            yield
        for client in self._clients:
            await client.aclose()

    def client(self, like: httpx.AsyncClient) -> httpx.AsyncClient:
        """A client with the same token over a real connection."""
        headers = {"Authorization": like.headers["Authorization"]}
        self._clients.append(httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30, trust_env=False))
        return self._clients[-1]
