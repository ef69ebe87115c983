"""Reading a watch: one JSON object a line, of any length (Kubernetes API concepts, "Watching for changes")."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple, Protocol

from app.cluster.client import Object, json_object
from app.cluster.errors import edge_errors


class WatchEvent(NamedTuple):
    """One line of a watch.

    `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, or whatever else the server may send one day; "" and an empty
    `object` stand for lines that have neither.
    """

    type: str
    object: Object


class Chunks(Protocol):
    """What is needed of `aiohttp.StreamReader`."""

    async def readany(self) -> bytes:
        """Wait for bytes and return all that are there; b"" at the end."""
        ...


async def watch_events(content: Chunks) -> AsyncGenerator[WatchEvent, None]:
    """Yield the events of a watch until the server ends it.

    Raises:
        Garbled: a line is not a JSON object.
        ClusterUnavailable: the connection broke or was silent for too long.
    """
    async with aclosing(lines(content)) as found:
        async for line in found:
            parsed = json_object(line)
            kind, obj = parsed.get("type"), parsed.get("object")
            yield WatchEvent(kind if isinstance(kind, str) else "", obj if isinstance(obj, dict) else {})


async def lines(content: Chunks) -> AsyncGenerator[bytearray, None]:
    """Yield the lines of a stream that are not empty, however long they are.

    `StreamReader.readline` refuses lines over its limit, and the next watch meets the same object again; a Job of
    1.4 MiB is legal (tomplus/kubernetes_asyncio#137). A last line without its end was cut off and is dropped: the next
    watch sends it whole.

    Raises:
        ClusterUnavailable: the connection broke or was silent for too long.
    """
    pending = bytearray()
    while True:
        with edge_errors():
            chunk = await content.readany()
        if not chunk:
            return
        searched = len(pending)
        pending += chunk
        start = 0
        while (end := pending.find(b"\n", max(searched, start))) >= 0:
            if line := pending[start:end].strip():
                yield line
            start = end + 1
        del pending[:start]
