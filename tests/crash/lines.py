"""A TCP line that falls silent without closing, or is cut. It knows nothing of what goes over it, so TLS passes."""

import asyncio
from collections.abc import Awaitable, Callable

Dial = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class TcpLine:
    """Carries connections to wherever `dial` leads, from a port of the loopback address."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def connections(self) -> int:
        """How many stand."""
        return len(self._writers) // 2

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def silence(self) -> None:
        """Carry nothing any more; new connections are taken and are silent too."""
        self._open.clear()

    def speak(self) -> None:
        """Carry what waited, and everything after it."""
        self._open.set()

    def forget(self) -> None:
        """Leave the connections that stand silent for ever; new ones work, as after a fail-over to another machine."""
        self.silence()
        self._open = asyncio.Event()
        self._open.set()

    async def cut(self) -> None:
        """Refuse new connections and break those that stand."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        pair = {writer}
        try:
            far_reader, far_writer = await self._dial()
            pair.add(far_writer)
            self._writers |= pair
            is_open = self._open
            await asyncio.gather(_carry(reader, far_writer, is_open), _carry(far_reader, writer, is_open))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._writers -= pair
            for each in pair:
                each.transport.abort()
            self._tasks.discard(task)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_open: asyncio.Event) -> None:
    while data := await reader.read(65536):
        await is_open.wait()
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError
