import asyncio
import socket
from typing import Any

import httpx
import pytest

from app.commands.failure import CommandFailed
from app.commands.http_server import address_of, bind, serving
from app.commands.parts import running
from app.commands.stopping import Stopping


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def test_a_port_in_use_is_one_sentence() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(CommandFailed, match=f"Port {port} is in use; .* choose another with --port"):
            bind("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(CommandFailed, match=r"^Cannot listen on 203\.0\.113\.1"):
        bind("203.0.113.1", 0)


def test_every_address_is_reached_by_loopback() -> None:
    with bind("0.0.0.0", 0) as bound:
        assert address_of(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"


async def test_requests_are_answered_until_the_end_and_the_port_is_free_after_it() -> None:
    bound = bind("127.0.0.1", 0)
    address, url = bound.getsockname(), address_of(bound)
    async with running("API", serving(hello, bound), Stopping()), httpx.AsyncClient() as http:
        assert (await asyncio.wait_for(http.get(url), 10)).text == "hello"
    with socket.socket() as probe:
        assert probe.connect_ex(address) != 0
