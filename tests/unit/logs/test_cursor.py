"""Whatever the pieces and wherever connections end, the text comes out once and whole."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.logs.cursor import SECOND, LogCursor, nanoseconds, stamp_of

NOON = int(datetime(2026, 12, 1, 12, tzinfo=UTC).timestamp()) * SECOND


def stamped(at: int, text: bytes) -> bytes:
    second, rest = divmod(at, SECOND)
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.").encode() + b"%09dZ " % rest + text


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = sorted({cut % (len(data) + 1) for cut in cuts} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


LINES = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 500_000_000, 3 * SECOND]), st.binary(max_size=60).filter(lambda b: 10 not in b)
    ),
    min_size=1,
    max_size=8,
)
CUTS = st.lists(st.integers(0, 2000), max_size=12)


@given(LINES, CUTS, st.booleans())
def test_times_are_taken_off(lines: list[tuple[int, bytes]], cuts: list[int], ended: bool) -> None:
    at, data, text = NOON, b"", b""
    for step, line in lines:
        at += step
        data += stamped(at, line + b"\n")
        text += line + b"\n"
    if not ended:
        data, text = data[:-1], text[:-1]
    cursor = LogCursor()
    assert b"".join(map(cursor.feed, pieces_of(data, cuts))) + cursor.end() == text


@given(LINES, st.lists(st.tuples(st.integers(0, 2000), CUTS), max_size=5), CUTS)
def test_a_log_that_is_opened_again_and_again_comes_once(
    lines: list[tuple[int, bytes]], broken: list[tuple[int, list[int]]], cuts: list[int]
) -> None:
    """Each answer begins at the second of the latest line and breaks somewhere; the last one is whole."""
    at, entries = NOON, []
    for step, line in lines:
        at += step
        entries.append((at, line + b"\n"))
    cursor, got = LogCursor(), b""
    for end, some in [*broken, (10**9, cuts)]:
        since = 0 if cursor.at is None else cursor.at // SECOND * SECOND
        answer = b"".join(stamped(at, line) for at, line in entries if at >= since)
        got += b"".join(map(cursor.feed, pieces_of(answer[:end], some)))
        cursor.resume()
    assert got == b"".join(line for _, line in entries)


def test_a_line_whose_rest_is_lost_is_ended() -> None:
    cursor = LogCursor()
    assert cursor.feed(stamped(NOON, b"half a li")) == b"half a li"
    cursor.resume()
    assert cursor.feed(stamped(NOON + SECOND, b"next\n")) == b"\nnext\n"


def test_a_line_without_an_end_comes_piece_by_piece_and_is_not_held() -> None:
    cursor = LogCursor()
    assert cursor.feed(stamped(NOON, b"x" * 1000)) == b"x" * 1000
    for _ in range(100):
        assert cursor.feed(b"y" * 65_536) == b"y" * 65_536
    assert cursor.feed(b"\n" + stamped(NOON + 1, b"z")) == b"\nz"


def test_older_lines_are_left_out_to_the_nanosecond() -> None:
    cursor = LogCursor(since=NOON)
    data = stamped(NOON - 1, b"a\n") + stamped(NOON, b"b\n") + stamped(NOON + 1, b"c\n")
    assert cursor.feed(data) == b"b\nc\n"


def test_lines_without_a_time_pass_as_they_are() -> None:
    cursor = LogCursor()
    text = b"unable to retrieve container logs for containerd://0123456789\n"
    assert cursor.feed(text) + cursor.end() == text
    assert cursor.feed(b"short") + cursor.end() == b"short"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"2026-12-01T12:00:00Z x", NOON),
        (b"2026-12-01T12:00:00.5Z x", NOON + SECOND // 2),
        (b"2026-12-01T14:00:00.000000001+02:00 x", NOON + 1),
        (b"2026-99-99T12:00:00Z x", 0),
    ],
)
def test_times_of_every_form(text: bytes, expected: int) -> None:
    stamp = stamp_of(text)
    assert stamp is not None
    assert nanoseconds(stamp) == expected


@pytest.mark.parametrize("text", [b"2026-12-01 12:00:00Z x", b"2026-12-01T12:00:00 x", b"x", b""])
def test_what_is_no_time(text: bytes) -> None:
    assert stamp_of(text) is None
