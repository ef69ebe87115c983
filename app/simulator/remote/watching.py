"""A watch without end and without a gap, made of lists and of watches that break off."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from app.simulator.objects import ApiError, Object, WatchEvent
from app.simulator.remote.answers import is_expired, status_error, unavailable

WATCH_SECONDS = 290
"""How long one watch may last; the server ends it then, and the next one goes on."""

_FIRST_DELAY_SECONDS = 0.1
_LONGEST_DELAY_SECONDS = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a kind, and the version from which a watch goes on."""

    items: list[Object]
    version: str


class Chunks(Protocol):
    """The body of an answer as it comes in."""

    def iter_any(self) -> AsyncIterator[bytes]:
        """Pieces of any length."""
        ...


List = Callable[[], Awaitable[Listing]]
Stream = Callable[[Mapping[str, str]], AbstractAsyncContextManager[Chunks]]


@dataclass(slots=True)
class Known:
    """What the consumer has been told: objects by namespace and name, and the version that this is."""

    objects: dict[tuple[str, str], Object] = field(default_factory=dict)
    version: str = ""

    def catch_up(self, listing: Listing) -> Iterator[WatchEvent]:
        """What happened between the last event and a list, as far as the list shows it. Deletions come first."""
        now = {_key(obj): obj for obj in listing.items}
        for key, old in list(self.objects.items()):
            if key not in now or _uid(now[key]) != _uid(old):
                del self.objects[key]
                yield WatchEvent("DELETED", old)
        for key, obj in now.items():
            known = self.objects.get(key)
            self.objects[key] = obj
            if known is None:
                yield WatchEvent("ADDED", obj)
            elif known["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                yield WatchEvent("MODIFIED", obj)
        self.version = listing.version

    def take(self, line: bytes) -> WatchEvent | None:
        """One line of a watch; None for a bookmark.

        Raises:
            ApiError: the server ends the watch, or the line cannot be read.
        """
        kind, obj = _parse(line)
        if kind == "ERROR":
            raise status_error(obj)
        self.version = str(obj["metadata"]["resourceVersion"])
        if kind == "DELETED":
            self.objects.pop(_key(obj), None)
            return WatchEvent("DELETED", obj)
        if kind == "BOOKMARK":
            return None
        known = _key(obj) in self.objects
        self.objects[_key(obj)] = obj
        return WatchEvent("MODIFIED" if known else "ADDED", obj)


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace") or "", obj["metadata"]["name"]


def _uid(obj: Object) -> str:
    return str(obj["metadata"].get("uid"))


def _parse(line: bytes) -> tuple[str, Object]:
    try:
        event = json.loads(line)
        return event["type"], event["object"]
    except (ValueError, KeyError, TypeError):
        raise unavailable("A line of a watch cannot be read.") from None


async def lines(chunks: Chunks) -> AsyncIterator[bytes]:
    """Whole lines of any length; what follows the last one was cut off and is dropped."""
    rest = bytearray()
    async for chunk in chunks.iter_any():
        searched = len(rest)
        rest += chunk
        begin = 0
        while (end := rest.find(b"\n", max(begin, searched))) >= 0:
            yield bytes(rest[begin:end])
            begin = end + 1
        del rest[:begin]


async def follow(what: str, list_all: List, stream: Stream) -> AsyncIterator[WatchEvent]:
    """Tell everything that exists, then every change, until the consumer stops.

    Args:
        what: the kind, for the log.
        list_all: reads all objects.
        stream: opens a watch with query parameters.
    """
    known = Known()
    delays = Delays()
    while True:
        try:
            if not known.version:
                for event in known.catch_up(await list_all()):
                    yield event
            async with stream(_query(known.version)) as chunks:
                async for line in lines(chunks):
                    delays.reset()
                    event_or_bookmark = known.take(line)
                    if event_or_bookmark is not None:
                        yield event_or_bookmark
        except ApiError as refusal:
            if is_expired(refusal):
                known.version = ""
            if delays.none_yet:
                log.info("A watch ended and goes on.", kind=what, code=refusal.code, reason=refusal.reason)
        await delays.wait()


def _query(version: str) -> dict[str, str]:
    seconds = WATCH_SECONDS + random.randrange(10)  # so that not all watches end at once
    return {
        "watch": "1",
        "resourceVersion": version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
    }


class Delays:
    """Waits between attempts: none after a watch that brought something, then longer and longer, with jitter."""

    def __init__(self) -> None:
        self._next = 0.0

    @property
    def none_yet(self) -> bool:
        """Whether nothing has failed since something was heard."""
        return self._next == 0.0

    def reset(self) -> None:
        """Something was heard."""
        self._next = 0.0

    async def wait(self) -> None:
        """Wait before the next attempt."""
        await asyncio.sleep(self._next * random.uniform(0.5, 1.0))
        self._next = min(max(self._next * 2, _FIRST_DELAY_SECONDS), _LONGEST_DELAY_SECONDS)
