"""Faults of a request, from pydantic's errors to JSON Pointers. Values that the caller sent are never repeated."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.errors import Invalid

_LONGEST_PART = 100

_WORDS = {
    "missing": "This is required",
    "extra_forbidden": "There is no such field",
    "model_attributes_type": "This has to be a JSON object",
    "model_type": "This has to be a JSON object",
    "dict_type": "This has to be a JSON object",
    "list_type": "This has to be a JSON array",
    "string_type": "This has to be a text",
    "int_type": "This has to be a whole number",
    "int_parsing": "This has to be a whole number",
    "int_from_float": "This has to be a whole number",
    "int_parsing_size": "This has to be a whole number, and a smaller one",
    "bool_type": "This has to be true or false",
    "uuid_parsing": "This has to be a UUID",
    "uuid_type": "This has to be a UUID",
    "enum": "This has to be one of {expected}",
    "literal_error": "This has to be one of {expected}",
    "greater_than_equal": "The number has to be at least {ge}",
    "less_than_equal": "The number has to be at most {le}",
    "too_short": "The least number of items is {min_length}, here are {actual_length}",
    "too_long": "The greatest number of items is {max_length}, here are {actual_length}",
    "string_too_short": "The least number of characters is {min_length}",
    "string_too_long": "The greatest number of characters is {max_length}",
    "string_pattern_mismatch": "The text has to match {pattern}",
}
"""Our words for pydantic's kinds of errors: JSON's terms and not Python's, and never a part of the value."""

NULL_HAS_NO_MEANING = "Leave it out to keep it; null has no meaning here"
"""Words for a null in a patch, at a field that cannot be null."""

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
    known = _WORDS.get(kind)
    words = known.format(**error.get("ctx", {})) if known else str(error["msg"]).removeprefix("Value error, ")
    return _told(pointer_of(error["loc"]), words, kind.replace("_", "-"))


def invalid(place: Iterable[str | int], words: str, code: str) -> Invalid:
    """A fault at a place; `words` are a sentence without its full stop, and never repeat what was sent."""
    return _told(pointer(place), words, code)


def _told(where: str, words: str, code: str) -> Invalid:
    return Invalid(where, f"{where or 'The body'}: {words.rstrip('.')}.", code)


def _escaped(part: str) -> str:
    short = part if len(part) <= _LONGEST_PART else part[:_LONGEST_PART] + "..."
    return short.replace("~", "~0").replace("/", "~1")
