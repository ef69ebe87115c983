"""From a log as the cluster gives it, each line behind its time, to what the container printed.

A log is asked for with times so that reading can go on after a connection has ended: the API server's `sinceTime`
counts whole seconds, and what was given out before is left out here. Nothing is decoded, and no line is held whole.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache

SECOND = 1_000_000_000

# a kubelet writes nine decimals, some runtimes fewer, and the zone is that of the node
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ")
_STAMPS = re.compile(rb"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) ", re.MULTILINE)
_LONGEST_STAMP = 36
_ALL = 2**63


def nanoseconds(stamp: re.Match[bytes]) -> int:
    """The moment of a stamp, since 1970; 0 for one that is no date."""
    return _seconds(stamp[1], stamp[3]) * SECOND + int((stamp[2] or b"").ljust(9, b"0"))


@lru_cache(maxsize=64)
def _seconds(date: bytes, zone: bytes) -> int:
    try:
        moment = datetime.fromisoformat(date.decode() + ("+00:00" if zone == b"Z" else zone.decode()))
    except ValueError:
        return 0
    return int(moment.timestamp())


def stamp_of(data: bytes, start: int = 0) -> re.Match[bytes] | None:
    """The stamp that stands at a place."""
    return _STAMP.match(data, start)


def moment_of(at: int) -> datetime:
    """A time in nanoseconds as a moment, without its fraction of a second."""
    return datetime.fromtimestamp(at // SECOND, UTC)


class LogCursor:
    """Takes the pieces of one log, also of several answers that overlap, and gives out the text.

    Args:
        since: lines older than this (nanoseconds) are left out.

    Attributes:
        at: time of the latest line that was given out; None before the first.
    """

    def __init__(self, since: int | None = None) -> None:
        self.at: int | None = None
        self._stamp = b""
        self._same = 0
        self._open = False
        self._sent = 0
        self._head = b""
        self._past: tuple[int, int, int | None] | None = None if since is None else (since - 1, _ALL, None)
        self._seen = 0
        self._dropping = False
        self._skip = 0

    def resume(self) -> None:
        """The next pieces are of an answer that begins anew, at the second of `at` or before."""
        if self._past is None and self.at is not None:  # else it had not come as far as the last time
            self._past = (self.at, self._same, self._sent if self._open else None)
        self._seen, self._head, self._dropping, self._skip, self._open = 0, b"", False, 0, False

    def feed(self, piece: bytes) -> bytes:
        """The text in the next piece."""
        data, self._head = self._head + piece, b""
        out: list[bytes] = []
        start = 0
        while self._past is not None and start < len(data):
            start = self._catch_up(data, start, out)
        if start < len(data):
            self._go_on(data[start:] if start else data, out)
        return b"".join(out)

    def end(self) -> bytes:
        """What is left at the end: a last line too short to tell whether it begins with a time."""
        head, self._head = self._head, b""
        return head

    def _catch_up(self, data: bytes, start: int, out: list[bytes]) -> int:
        """Leave out one line or a part of it; returns where the next begins."""
        newline = data.find(b"\n", start)
        end = len(data) if newline < 0 else newline + 1
        if self._dropping:
            self._dropping = newline < 0
            return end
        stamp = stamp_of(data, start)
        if stamp is None and newline < 0 and len(data) - start < _LONGEST_STAMP:
            self._head = data[start:]
            return len(data)
        if stamp is None:
            self._dropping = newline < 0
            return end
        return self._judge(data, start, stamp, out)

    def _judge(self, data: bytes, start: int, stamp: re.Match[bytes], out: list[bytes]) -> int:
        """Compare a line's time with where we stopped."""
        assert self._past is not None  # noqa: S101 - for the type checker
        past, same, sent = self._past
        at = nanoseconds(stamp)
        self._seen += at == past
        if at > past or (at == past and self._seen > same):
            if sent is not None:
                out.append(b"\n")  # the rest of the line that was cut off is lost
            self._past = None
            self._sent, self._open = 0, False
            return start
        if at == past and self._seen == same and sent is not None:
            self._past, self._open, self._sent, self._skip = None, True, sent, sent
            return stamp.end()
        self._dropping = True
        return stamp.end()

    def _go_on(self, data: bytes, out: list[bytes]) -> None:
        start = 0
        if self._open:
            newline = data.find(b"\n")
            start = len(data) if newline < 0 else newline + 1
            self._emit(data[:start], out)
            self._open = newline < 0
        last = data.rfind(b"\n", start) + 1
        if last > start:
            block = data[start:last]
            self._note(block)
            out.append(_STAMPS.sub(b"", block))
            start = last
        if start < len(data):
            self._begin(data[start:], out)

    def _begin(self, part: bytes, out: list[bytes]) -> None:
        """The beginning of a line whose end has not come yet."""
        stamp = stamp_of(part)
        if stamp is None and len(part) < _LONGEST_STAMP:
            self._head = part
            return
        if stamp is not None:
            self._count(stamp, 1)
        self._open, self._sent = True, 0
        self._emit(part if stamp is None else part[stamp.end() :], out)

    def _emit(self, part: bytes, out: list[bytes]) -> None:
        """Give out a part of an open line, less what was given out before."""
        if self._skip:
            dropped = min(self._skip, len(part))
            self._skip -= dropped
            part = part[dropped:]
        self._sent += len(part)
        out.append(part)

    def _note(self, block: bytes) -> None:
        """Remember the time of the last of some whole lines, and how many have it."""
        last = block.rfind(b"\n", 0, len(block) - 1) + 1
        stamp = stamp_of(block, last)
        if stamp is not None:
            self._count(stamp, block.count(b"\n" + stamp[0]) + block.startswith(stamp[0]))

    def _count(self, stamp: re.Match[bytes], lines: int) -> None:
        self._same = self._same + lines if stamp[0] == self._stamp else lines
        self._stamp, self.at = stamp[0], nanoseconds(stamp)
