"""Faults in the maps of a job's body. Pure."""

from collections.abc import Callable, Iterator, Mapping

from app.errors import Invalid
from app.validation import invalid

Place = tuple[str | int, ...]
"""The way from the body to a member."""


def in_members(
    place: Place,
    members: Mapping[str, str],
    fault_in_key: Callable[[str], str | None],
    fault_in_value: Callable[[str], str | None],
    code: str,
) -> Iterator[Invalid]:
    """Faults in the keys and values of a map of texts."""
    for key, value in members.items():
        for words in filter(None, (fault_in_key(key), fault_in_value(value))):
            yield invalid((*place, key), words, code)
