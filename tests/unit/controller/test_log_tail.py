"""The kept end of a log: bounded in lines and bytes, whole lines where they fit, and honest about what is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.controller.log_tail import LogTail


def end_of(pieces: list[bytes], lines: int, size: int) -> tuple[bytes, bool]:
    tail = LogTail(most_lines=lines, most_bytes=size)
    for piece in pieces:
        tail.feed(piece)
    return tail.end()


@pytest.mark.parametrize(
    ("log", "lines", "size", "expected"),
    [
        (b"", 2, 10, (b"", False)),
        (b"a\nb\n", 2, 10, (b"a\nb\n", False)),
        (b"a\nb\nc\n", 2, 10, (b"b\nc\n", True)),
        (b"a\nb\nc", 2, 10, (b"b\nc", True)),
        (b"aaaa\nbbbb\ncc\n", 9, 8, (b"bbbb\ncc\n", True)),
        (b"aaaa\nbbbb\ncc\n", 9, 10, (b"bbbb\ncc\n", True)),
        (b"one line of many bytes", 2, 10, (b"many bytes", True)),
        (b"one line of many bytes\n", 2, 10, (b"any bytes\n", True)),
        (b"\x00\xff\n", 2, 10, (b"\x00\xff\n", False)),
    ],
)
def test_the_end_of_a_log(log: bytes, lines: int, size: int, expected: tuple[bytes, bool]) -> None:
    assert end_of([log], lines, size) == expected


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(1, 6), st.integers(1, 40))
def test_it_is_the_end_within_its_bounds_however_it_comes(pieces: list[bytes], lines: int, size: int) -> None:
    log = b"".join(pieces)
    text, truncated = end_of(pieces, lines, size)
    assert log.endswith(text)
    assert len(text) <= size
    assert len(text.removesuffix(b"\n").split(b"\n")) <= lines
    assert truncated == (text != log)
    assert (text, truncated) == end_of([log], lines, size)
