"""Watch streams: one JSON event a line (Kubernetes API concepts, "Efficient detection of changes")."""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiohttp import web

from app.simulator.history import Change, Watcher, encode
from app.simulator.kinds import Kind
from app.simulator.objects import ApiError, EventType, Object
from app.simulator.refusals import expired, status_body
from app.simulator.rest.paths import Target
from app.simulator.rest.query import ListOptions
from app.simulator.rest.tables import Rendering
from app.simulator.selectors import Match
from app.simulator.store import Store

BOOKMARK_SECONDS = 10.0
"""A kube-apiserver sends one about every minute; more often costs nothing here and shows more in tests."""
_SHORTEST_DEFAULT_SECONDS = 1800.0  # --min-request-timeout; the real one adds up to as much again, to spread clients
_LINES_PER_WRITE = 500
_STALLED_SECONDS = 3600.0


@dataclass(slots=True, eq=False)
class Stream:
    """One open watch, as the faults see it."""

    target: Target
    watcher: Watcher
    version: int = 0
    """Only later changes are sent; it may be a version to come."""
    stalled: bool = False
    ending: bool = False
    lines: list[bytes] = field(default_factory=list)

    def end(self) -> None:
        """End it cleanly."""
        self.ending = True
        self.stalled = False
        self.watcher.arrived.set()

    def send(self, line: bytes, *, last: bool = False) -> None:
        """Send a line as it is, without its newline."""
        self.lines.append(line + b"\n")
        self.ending = self.ending or last
        self.watcher.arrived.set()

    def stall(self, stalled: bool) -> None:
        """Send nothing any more, or go on."""
        self.stalled = stalled
        self.watcher.arrived.set()

    async def wait(self, seconds: float) -> None:
        """Wait until there is something to send or to obey, at most `seconds`."""
        if self.lines or self.ending or (self.watcher.pending and not self.stalled):
            return
        self.watcher.arrived.clear()
        try:
            await asyncio.wait_for(self.watcher.arrived.wait(), max(0.0, seconds))
        except TimeoutError:
            return


class Streams:
    """All open watches of a server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.open: dict[Stream, web.Request] = {}

    async def serve(
        self, request: web.Request, target: Target, options: ListOptions, rendering: Rendering
    ) -> web.StreamResponse:
        """Answer a watch until its time is over, the client goes, or a fault ends it."""
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        version = options.version or self._store.version
        try:
            with self._store.history(target.kind).follow(version) as watcher:
                stream = Stream(target, watcher, version)
                self.open[stream] = request
                try:
                    await response.prepare(request)
                    await self._send(response, stream, options, rendering)
                finally:
                    del self.open[stream]
        except ApiError as refusal:
            await response.prepare(request)
            await response.write(error_line(refusal))
        except ConnectionError:
            return response  # the client has gone
        await response.write_eof()
        return response

    async def _send(
        self, response: web.StreamResponse, stream: Stream, options: ListOptions, rendering: Rendering
    ) -> None:
        loop = asyncio.get_running_loop()
        default = _SHORTEST_DEFAULT_SECONDS * (1 + random.random())
        deadline = loop.time() + (options.timeout_seconds or default)
        next_bookmark = loop.time() + BOOKMARK_SECONDS
        if not options.version:
            await self._send_present(response, stream, options.matches, rendering)
        while True:
            due = min(deadline, next_bookmark) if options.bookmarks else deadline
            await stream.wait(_STALLED_SECONDS if stream.stalled else due - loop.time())
            if stream.lines:
                lines, stream.lines = stream.lines, []
                await response.write(b"".join(lines))
            if stream.ending:
                return
            if stream.stalled:
                continue
            await self._send_pending(response, stream, options.matches, rendering)
            over = loop.time() >= deadline
            if options.bookmarks and not stream.watcher.pending and (over or loop.time() >= next_bookmark):
                next_bookmark = loop.time() + BOOKMARK_SECONDS
                await response.write(bookmark_line(stream.target.kind, self._store.version))
            if over:
                return

    async def _send_present(
        self, response: web.StreamResponse, stream: Stream, matches: Match | None, rendering: Rendering
    ) -> None:
        target = stream.target
        records = [record for _, record in self._store.sorted_records(target.kind)]
        chosen = [r for r in records if _in_scope(target, r.object) and (matches is None or matches(r.object))]
        for start in range(0, len(chosen), _LINES_PER_WRITE):
            lines = [event_line("ADDED", rendering.one(r)) for r in chosen[start : start + _LINES_PER_WRITE]]
            await response.write(b"".join(lines))

    @staticmethod
    async def _send_pending(
        response: web.StreamResponse, stream: Stream, matches: Match | None, rendering: Rendering
    ) -> None:
        watcher = stream.watcher
        while watcher.pending:
            lines: list[bytes] = []
            while watcher.pending and len(lines) < _LINES_PER_WRITE:
                change = watcher.pending.popleft()
                if change.record.version > stream.version:
                    lines.extend(_lines(stream.target, change, matches, rendering))
            if lines:
                await response.write(b"".join(lines))


def _in_scope(target: Target, obj: Object) -> bool:
    return target.namespace is None or obj["metadata"].get("namespace") == target.namespace


def _lines(target: Target, change: Change, matches: Match | None, rendering: Rendering) -> Iterator[bytes]:
    kind = seen_as(change, matches)
    if kind is not None and _in_scope(target, change.record.object):
        yield event_line(kind, rendering.one(change.record))


def seen_as(change: Change, matches: Match | None) -> EventType | None:
    """How a change looks to a watch with a selector: coming into it is ADDED, leaving it DELETED."""
    if matches is None:
        return change.type
    before = change.previous is not None and matches(change.previous.object)
    if change.type == "DELETED":
        return "DELETED" if before else None
    now = matches(change.record.object)
    if now:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else None


def event_line(kind: str, encoded: bytes) -> bytes:
    """One event."""
    return b'{"type":"' + kind.encode() + b'","object":' + encoded + b"}\n"


def bookmark_line(kind: Kind, version: int) -> bytes:
    """A bookmark: everything up to `version` has been sent."""
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    return event_line("BOOKMARK", encode({"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}))


def error_line(refusal: ApiError) -> bytes:
    """An ERROR event with a Status."""
    return event_line("ERROR", encode(status_body(refusal)))


def too_old_line() -> bytes:
    """The ERROR event of a watch that the server can no longer serve."""
    return error_line(expired("The resourceVersion for the provided watch is too old."))
