from datetime import UTC, datetime

import pytest
from pydantic_core import PydanticCustomError

from app.moments import parse

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00Z",
        "2026-03-01t12:00:00z",
        "2026-03-01 12:00:00Z",
        "2026-03-01T12:00:00.000000000Z",
        "2026-03-01T17:30:00+05:30",
        "2026-03-01T17:30:00 05:30",  # what is left of an unescaped "+" in a query
        "2026-03-01T04:00:00-08:00",
    ],
)
def test_a_moment_is_read_as_utc(text: str) -> None:
    moment = parse(text)
    assert moment == NOON
    assert moment.tzinfo is UTC


@pytest.mark.parametrize(
    "given",
    [
        "2026-03-01T12:00:00",
        "2026-03-01",
        "20260301",
        "0",
        0,
        1772366400,
        "1772366400",
        "2026-03-01T12:00Z",
        "2026-03-01T12:00:00+0530",
        "2026-03-01T12:00:00Z\n",
        "2026-02-30T12:00:00Z",
        "2026-03-01T12:00:60Z",
        "2026-03-01T12:00:00+99:00",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "\u0662026-03-01T12:00:00Z",
        "",
        None,
        True,
        datetime(2026, 3, 1, 12),  # noqa: DTZ001  that it has no zone is the point
    ],
)
def test_everything_else_is_refused(given: object) -> None:
    with pytest.raises(PydanticCustomError, match="RFC 3339"):
        parse(given)
