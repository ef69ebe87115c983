"""Faults of a request, from pydantic's errors to JSON Pointers. Values that the caller sent are never repeated."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.errors import Invalid

_LONGEST_PART = 100

_OWN_WORDS = {
    # pydantic's words for these quote a part of the value
    "uuid_parsing": "Input should be a UUID",
    "url_parsing": "Input should be an address",
    "extra_forbidden": "There is no such field",
    "missing": "This is required",
}

_INTERNAL = re.compile(r"\[key\]|function-\w+\[.*")
"""Parts of pydantic's locations that name its own steps and no part of the document."""


def pointer(parts: Iterable[str | int]) -> str:
    """A JSON Pointer (RFC 6901) to the place that `parts` lead to; "" is the whole document."""
    return "".join(f"/{_escaped(str(part))}" for part in parts)


def pointer_of(location: Iterable[str | int]) -> str:
    """The pointer of a location in FastAPI's form.

    A place in the body points into it (`/tasks/0/replicas`); others begin with where they were sent (`/query/limit`,
    `/header/idempotency-key`).
    """
    parts = [part for part in location if isinstance(part, int) or not _INTERNAL.fullmatch(part)]
    return pointer(parts[1:] if parts[:1] == ["body"] else parts)


def fault_of(error: Mapping[str, Any]) -> Invalid:
    """One of pydantic's errors, without the value that it is about."""
    kind = str(error["type"])
    words = _OWN_WORDS.get(kind) or str(error["msg"]).removeprefix("Value error, ")
    where = pointer_of(error["loc"])
    return Invalid(where, f"{where or 'The body'}: {words.rstrip('.')}.", kind.replace("_", "-"))


def _escaped(part: str) -> str:
    short = part if len(part) <= _LONGEST_PART else part[:_LONGEST_PART] + "..."
    return short.replace("~", "~0").replace("/", "~1")
