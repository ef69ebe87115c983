"""Serving an ASGI application inside a process that does more than that."""

import asyncio
import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from app.commands.failure import CommandFailed
from app.commands.parts import Part

_BACKLOG = 2048
_OPEN_REQUESTS_SECONDS = 3
_SILENT_MILLISECONDS = 60_000
"""A client that takes nothing for so long is gone (tcp(7), TCP_USER_TIMEOUT): what waits for it is let go."""


class _Server(uvicorn.Server):
    """A server that leaves signals to the command around it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(host: str, port: int) -> socket.socket:
    """Take the port at once, before anything else is started; 0 takes a free one.

    Raises:
        CommandFailed: the port or the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandFailed(f"Port {port} is in use; stop what uses it, or choose another with --port.") from error
        raise CommandFailed(f"Cannot listen on {host}, port {port}: {error.strerror}.") from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; accepted connections have it from here
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENT_MILLISECONDS)
    return bound


def address_of(bound: socket.socket) -> str:
    """The address at which this machine reaches a bound socket."""
    host, port = bound.getsockname()[:2]
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared with, not bound
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def serving(app: Any, bound: socket.socket, *, on_stop: Callable[[], None] | None = None) -> Part:
    """The part that serves an application on a bound socket; open requests get three seconds at the end.

    `on_stop` is called when the stop is asked for: streams do not end by themselves.
    """

    async def serve(stop: asyncio.Event) -> None:
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_OPEN_REQUESTS_SECONDS,
        )
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[bound]))
        stops = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([task, stops], return_when=asyncio.FIRST_COMPLETED)
            if on_stop is not None:
                on_stop()
            server.should_exit = True
            await task
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            stops.cancel()

    return serve
