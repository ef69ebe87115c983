"""The end of a log that is too long to keep. Pure."""

from collections import deque

from app.logs.reading import last_lines


class LogTail:
    """Takes the pieces of a log and holds the last of them: so many lines, and never more than so many bytes."""

    def __init__(self, *, most_lines: int, most_bytes: int) -> None:
        self._most_lines = most_lines
        self._most_bytes = most_bytes
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._dropped = False

    def feed(self, piece: bytes) -> None:
        """Take the next piece."""
        self._pieces.append(piece)
        self._held += len(piece)
        while self._held - len(self._pieces[0]) > self._most_bytes:
            self._held -= len(self._pieces.popleft())
            self._dropped = True

    def end(self) -> tuple[bytes, bool]:
        """The end of the log, and whether the log began earlier."""
        text = b"".join(self._pieces)
        short = _from_a_line(text, self._most_bytes) if len(text) > self._most_bytes else text
        lines = last_lines(short, self._most_lines)
        return lines, self._dropped or len(lines) < len(text)


def _from_a_line(text: bytes, most: int) -> bytes:
    """The end of a longer text, from the beginning of a line unless that would leave less than half of the room."""
    start = len(text) - most
    begin = text.find(b"\n", start - 1) + 1
    return text[begin:] if start <= begin <= start + most // 2 else text[start:]
