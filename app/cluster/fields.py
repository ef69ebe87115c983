"""Reading fields of objects that may lack them, hold null, or hold something of another type (case S-07).

Every function returns a plain default instead of failing: one strange object must not stop the others.
"""

import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

MAXIMUM_MESSAGE_LENGTH = 1024

_INT32_DIGITS = 10

_NOTHING: Mapping[str, Any] = {}


def mapping(thing: Any, *names: str) -> Mapping[str, Any]:
    """Return the mapping found by going down the names; an empty one where there is none."""
    for name in names:
        thing = thing.get(name) if isinstance(thing, Mapping) else None
    return thing if isinstance(thing, Mapping) else _NOTHING


def text(thing: Any) -> str:
    """Return a text, "" for anything else. Equal texts share their memory: phases, queues and nodes repeat a lot."""
    return sys.intern(thing) if type(thing) is str else ""


def optional_text(thing: Any) -> str | None:
    """Return a text that is not empty, else None."""
    return text(thing) or None


def message(thing: Any) -> str:
    """Return a text for people, cut to 1,024 characters: those of a scheduler can be of any length.

    What PostgreSQL cannot store (NUL, half a surrogate pair) becomes a question mark: a program's last words are bytes.
    """
    if not isinstance(thing, str):
        return ""
    return thing[:MAXIMUM_MESSAGE_LENGTH].replace("\0", "?").encode(errors="replace").decode()


def count(thing: Any) -> int:
    """Return a whole number of zero or more, 0 for anything else."""
    found = number(thing)
    return 0 if isinstance(thing, str) or found is None or found < 0 else found


def number(thing: Any) -> int | None:
    """Return an int32, written as a number or as text as in annotations; None for anything else."""
    if isinstance(thing, str) and thing.isascii() and thing.isdecimal() and len(thing) <= _INT32_DIGITS:
        thing = int(thing)
    if not isinstance(thing, int) or isinstance(thing, bool):
        return None
    return thing if -(2**31) <= thing < 2**31 else None


def time(thing: Any) -> datetime | None:
    """Return an RFC 3339 time as aware UTC; None for anything else, and for Go's zero time, which means "never"."""
    if not isinstance(thing, str):
        return None
    try:
        moment = datetime.fromisoformat(thing)
        return None if moment.tzinfo is None or moment.year == 1 else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def mappings(thing: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list; null and strange entries are left out."""
    for item in thing if isinstance(thing, list) else ():
        if isinstance(item, Mapping):
            yield item


def texts(thing: Any) -> tuple[str, ...]:
    """Return the texts of a list."""
    return tuple(text(item) for item in thing if isinstance(item, str)) if isinstance(thing, list) else ()


def quantities(thing: Any) -> dict[str, str]:
    """Return a resource list as texts by resource name; numbers, as YAML may hold them, become texts."""
    return {
        text(name): text(str(value))
        for name, value in mapping(thing).items()
        if isinstance(name, str) and isinstance(value, str | int) and not isinstance(value, bool)
    }


def owning_job(metadata: Mapping[str, Any]) -> str | None:
    """Return the uid of the Volcano Job among an object's owners."""
    for owner in mappings(metadata.get("ownerReferences")):
        if owner.get("kind") == "Job" and text(owner.get("apiVersion")).startswith("batch.volcano.sh/"):
            return optional_text(owner.get("uid"))
    return None
