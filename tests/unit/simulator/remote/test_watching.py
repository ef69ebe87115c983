"""The watch without end and without a gap, on scripted lists and streams."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from app.simulator.objects import ApiError, Object
from app.simulator.remote import watching
from app.simulator.remote.answers import unavailable
from app.simulator.remote.watching import Listing, follow, lines

Script = list[list[bytes] | ApiError]


def obj(name: str, version: int, uid: str = "") -> Object:
    return {
        "metadata": {"namespace": "team", "name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    }


def line(kind: str, thing: Object) -> bytes:
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


GONE = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})


class Chunks:
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def iter_any(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


class Server:
    """Lists and streams in order; without more streams it is silent."""

    def __init__(self, lists: list[Listing], streams: Script) -> None:
        self._lists = lists
        self._streams = streams
        self.asked: list[str] = []

    async def list_all(self) -> Listing:
        return self._lists.pop(0)

    @asynccontextmanager
    async def stream(self, query: Mapping[str, str]) -> AsyncIterator[Chunks]:
        self.asked.append(query["resourceVersion"])
        if not self._streams:
            await asyncio.Event().wait()
        script = self._streams.pop(0)
        if isinstance(script, ApiError):
            raise script
        yield Chunks(script)


async def told(server: Server, count: int) -> list[tuple[str, str, str]]:
    """The next events: type, name, version."""
    found: list[tuple[str, str, str]] = []
    async with asyncio.timeout(10), aclosing(follow("things", server.list_all, server.stream)) as events:
        async for event in events:
            found.append((event.type, event.object["metadata"]["name"], event.object["metadata"]["resourceVersion"]))
            if len(found) == count:
                break
    return found


async def test_what_exists_comes_first_then_each_change() -> None:
    changes = [line("MODIFIED", obj("a", 4)), line("ADDED", obj("b", 5)), line("DELETED", obj("a", 6))]
    server = Server([Listing([obj("a", 2)], "3")], [changes])
    assert await told(server, 4) == [
        ("ADDED", "a", "2"),
        ("MODIFIED", "a", "4"),
        ("ADDED", "b", "5"),
        ("DELETED", "a", "6"),
    ]
    assert server.asked == ["3"]


@pytest.mark.parametrize("end", [None, unavailable("away"), ApiError(500, "InternalError", "no")])
async def test_a_watch_that_ends_goes_on_where_it_was(end: ApiError | None) -> None:
    streams: Script = [[line("BOOKMARK", obj("", 9))], [line("MODIFIED", obj("a", 11))]]
    if end is not None:
        streams.insert(1, end)
    server = Server([Listing([obj("a", 2)], "3")], streams)
    assert await told(server, 2) == [("ADDED", "a", "2"), ("MODIFIED", "a", "11")]
    assert server.asked == (["3", "9"] if end is None else ["3", "9", "9"])


@pytest.mark.parametrize(
    "gone", [[GONE], ApiError(410, "Expired", "too old"), ApiError(504, "Timeout", "Too large resource version: 9")]
)
async def test_an_expired_version_is_made_up_for_by_a_list(gone: Any) -> None:
    before = [obj("gone", 1), obj("same", 2), obj("changed", 3), obj("again", 4, "first")]
    after = [obj("same", 2), obj("changed", 8), obj("again", 9, "second"), obj("new", 10)]
    server = Server([Listing(before, "5"), Listing(after, "12")], [gone, [line("ADDED", obj("last", 13))]])
    events = await told(server, 10)
    assert events[4:] == [
        ("DELETED", "gone", "1"),
        ("DELETED", "again", "4"),
        ("MODIFIED", "changed", "8"),
        ("ADDED", "again", "9"),
        ("ADDED", "new", "10"),
        ("ADDED", "last", "13"),
    ]
    assert server.asked == ["5", "12"]


async def test_a_line_that_is_cut_off_is_asked_for_again() -> None:
    whole = line("MODIFIED", obj("a", 7))
    server = Server([Listing([obj("a", 2)], "3")], [[whole[:20]], [whole]])
    assert await told(server, 2) == [("ADDED", "a", "2"), ("MODIFIED", "a", "7")]
    assert server.asked == ["3", "3"]


async def test_a_server_that_is_away_is_not_asked_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(watching.asyncio, "sleep", sleep)
    away: Script = [unavailable("away") for _ in range(12)]
    server = Server([Listing([], "3")], [*away, [line("ADDED", obj("a", 4))]])
    await told(server, 1)
    assert waits[0] == 0.0
    assert 5.0 <= waits[-1] <= 10.0
    assert all(0.05 <= wait <= 10.0 for wait in waits[1:])


async def test_lines_of_any_length_and_in_any_pieces() -> None:
    content = b"".join([b"short\n", b"x" * 3_000_000 + b"\n", b"\n", b"end\n", b"rest"])
    for size in (7, 65_536, len(content)):
        if size == 7:
            content_here = b"one\ntwo\n\nthree\nrest"
            wanted = [b"one", b"two", b"", b"three"]
        else:
            content_here, wanted = content, [b"short", b"x" * 3_000_000, b"", b"end"]
        pieces = [content_here[at : at + size] for at in range(0, len(content_here), size)]
        assert [found async for found in lines(Chunks(pieces))] == wanted
