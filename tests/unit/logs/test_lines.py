"""Several logs as one: in the order of time, every line behind its prefix, no line without bounds."""

from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from app.logs.lines import LONGEST_LINE, LineCutter, merged, prefixed, timed_lines


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


def at(second: int, text: bytes) -> bytes:
    return b"2026-12-01T12:00:%02d.000000000Z " % second + text


@given(st.binary(max_size=200), st.integers(1, 50))
def test_cut_lines_are_the_text(text: bytes, size: int) -> None:
    cutter = LineCutter()
    lines = [line for start in range(0, len(text), size) for line in cutter.feed(text[start : start + size])]
    lines += cutter.end()
    assert b"\n".join(lines) == text.removesuffix(b"\n")


def test_a_long_line_is_cut_and_not_held() -> None:
    cutter = LineCutter()
    assert cutter.feed(b"x" * (LONGEST_LINE - 1)) == []
    assert [len(line) for line in cutter.feed(b"x" * (3 * LONGEST_LINE))] == [LONGEST_LINE] * 3
    assert [len(line) for line in cutter.feed(b"\nshort\n")] == [LONGEST_LINE - 1, 5]


async def test_logs_are_put_together_by_time() -> None:
    first = pieces(at(1, b"a\n") + at(4, b"d"), b"d\n", at(5, b"\xff\x00"))
    second = pieces(at(2, b"b\n"), at(3, b"c\n") + at(6, b"f\n"))
    sources = [(b"x-0 | ", timed_lines(first, None)), (b"x-1 | ", timed_lines(second, None))]
    text = b"".join([part async for part in merged(sources)])
    assert text == b"x-0 | a\nx-1 | b\nx-1 | c\nx-0 | dd\nx-0 | \xff\x00\nx-1 | f\n"


async def test_old_lines_and_empty_logs_are_left_out() -> None:
    since = 1_796_126_402 * 10**9  # 12:00:02
    sources = [
        (b"x-0 | ", timed_lines(pieces(at(1, b"a\n") + at(2, b"b\n")), since)),
        (b"x-1 | ", timed_lines(pieces(), since)),
    ]
    assert b"".join([part async for part in merged(sources)]) == b"x-0 | b\n"


def test_a_prefix_for_each_line() -> None:
    assert prefixed(b"worker-0 | ", [b"a", b"", b"c"]) == b"worker-0 | a\nworker-0 | \nworker-0 | c\n"
