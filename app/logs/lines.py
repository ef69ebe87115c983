"""Logs of several pods as one text, each line behind the name of its replica. No line is held whole if it is long."""

import heapq
from collections.abc import AsyncIterator, Sequence

from app.logs.cursor import nanoseconds, stamp_of

LONGEST_LINE = 2**14
"""A longer line is shown as several, each with its prefix."""

_WRITE_BYTES = 2**16

Line = tuple[int, bytes]
"""Time in nanoseconds, and the text without its newline."""


class LineCutter:
    """Cuts text into lines of at most `LONGEST_LINE` bytes."""

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, text: bytes) -> list[bytes]:
        """The lines that end in the next piece, without their newlines."""
        *lines, self._pending = (self._pending + text).split(b"\n")
        cut = [part for line in lines for part in _parts(line)]
        if len(self._pending) >= LONGEST_LINE:
            *full, self._pending = _parts(self._pending)
            cut += full
        return cut

    def end(self) -> list[bytes]:
        """The last line, if it has no newline."""
        pending, self._pending = self._pending, b""
        return [pending] if pending else []


def _parts(line: bytes) -> list[bytes]:
    if len(line) <= LONGEST_LINE:
        return [line]
    return [line[start : start + LONGEST_LINE] for start in range(0, len(line), LONGEST_LINE)]


def prefixed(prefix: bytes, lines: Sequence[bytes]) -> bytes:
    """Lines with a prefix each, as one text."""
    return b"".join(b"%s%s\n" % (prefix, line) for line in lines)


async def timed_lines(pieces: AsyncIterator[bytes], since: int | None) -> AsyncIterator[list[Line]]:
    """The lines of a log with their times, in lists as they come; those older than `since` are left out."""
    cutter, latest = LineCutter(), 0
    async for piece in pieces:
        lines: list[Line] = []
        for line in cutter.feed(piece):
            latest = _append(lines, line, latest, since)
        if lines:
            yield lines
    lines = []
    for line in cutter.end():
        _append(lines, line, latest, since)
    if lines:
        yield lines


def _append(lines: list[Line], line: bytes, latest: int, since: int | None) -> int:
    """Add a line; what has no time of its own, such as the rest of a long line, has that of the line before."""
    stamp = stamp_of(line)
    at = latest if stamp is None else nanoseconds(stamp)
    if since is None or at >= since:
        lines.append((at, line if stamp is None else line[stamp.end() :]))
    return at


async def merged(sources: Sequence[tuple[bytes, AsyncIterator[list[Line]]]]) -> AsyncIterator[bytes]:
    """The lines of several logs in the order of their times, each behind the prefix of its log."""
    pending: list[list[Line]] = [[] for _ in sources]
    heap: list[tuple[int, int]] = []
    for index, (_, lists) in enumerate(sources):
        await _refill(heap, pending, index, lists)
    out: list[bytes] = []
    size = 0
    while heap:
        _, index = heapq.heappop(heap)
        prefix, lists = sources[index]
        line = b"%s%s\n" % (prefix, pending[index].pop()[1])
        out.append(line)
        size += len(line)
        if size >= _WRITE_BYTES:
            yield b"".join(out)
            out, size = [], 0
        if pending[index]:
            heapq.heappush(heap, (pending[index][-1][0], index))
        else:
            await _refill(heap, pending, index, lists)
    if out:
        yield b"".join(out)


async def _refill(
    heap: list[tuple[int, int]], pending: list[list[Line]], index: int, lists: AsyncIterator[list[Line]]
) -> None:
    """Take the next lines of a log, last first, so that taking one is cheap."""
    found = await anext(lists, None)
    if found:
        pending[index] = found[::-1]
        heapq.heappush(heap, (found[0][0], index))
