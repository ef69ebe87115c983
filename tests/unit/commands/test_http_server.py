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


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux has this option alone")
def test_a_client_that_takes_nothing_is_given_up_after_a_minute() -> None:
    with bind("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000


async def test_a_stop_is_told_before_open_requests_are_waited_for() -> None:
    told = asyncio.Event()

    async def until_told(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await told.wait()
        await send({"type": "http.response.body", "body": b"whole"})

    bound = bind("127.0.0.1", 0)
    url = address_of(bound)
    async with httpx.AsyncClient() as http:
        async with running("API", serving(until_told, bound, on_stop=told.set), Stopping()):
            answer = await http.send(http.build_request("GET", url), stream=True)
        assert await answer.aread() == b"whole"


async def test_requests_are_answered_until_the_end_and_the_port_is_free_after_it() -> None:
    bound = bind("127.0.0.1", 0)
    address, url = bound.getsockname(), address_of(bound)
    async with running("API", serving(hello, bound), Stopping()), httpx.AsyncClient() as http:
        assert (await asyncio.wait_for(http.get(url), 10)).text == "hello"
    with socket.socket() as probe:
        assert probe.connect_ex(address) != 0
