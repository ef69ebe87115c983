"""Moments that callers send: RFC 3339 with a zone, and nothing that merely can be read as a time."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

# In a query an unescaped "+" arrives as a space, and a space before the offset can mean nothing else.
_RFC_3339 = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[Tt ](?P<time>\d\d:\d\d:\d\d(\.\d{1,9})?)"
    r"((?P<utc>[Zz])|(?P<sign>[-+ ])(?P<offset>\d\d:\d\d))",
    re.ASCII,
)
_RULE = "A time has the form of RFC 3339 with a zone, such as 2026-03-01T12:00:00Z or 2026-03-01T12:00:00+05:30"


def parse(given: object) -> datetime:
    """A moment in UTC, from its text.

    Numbers are refused, where pydantic would take `20260101` for the seconds since 1970 and so for a day of that year.

    Raises:
        PydanticCustomError: it is no text of this form, or no moment between the years 1 and 9999.
    """
    if isinstance(given, datetime) and given.tzinfo is not None:
        return given.astimezone(UTC)
    found = _RFC_3339.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise PydanticCustomError("time", "{rule}", {"rule": _RULE})
    zone = "+00:00" if found["utc"] else f"{found['sign'].replace(' ', '+')}{found['offset']}"
    try:
        return datetime.fromisoformat(f"{found['date']}T{found['time']}{zone}").astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise PydanticCustomError("time", "{rule}", {"rule": _RULE}) from error


Moment = Annotated[datetime, BeforeValidator(parse), WithJsonSchema({"type": "string", "format": "date-time"})]
"""A time that a caller sends, read as UTC."""
