"""Faults of a body as faults of the document that it was made from. Pure."""

from collections.abc import Iterable, Iterator

from app.errors import Invalid
from app.jobs.importing.draft import Draft
from app.validation import pointer


def relocated(faults: Iterable[Invalid], draft: Draft) -> Iterator[Invalid]:
    """The same faults with pointers into the document, by what the draft remembers."""
    for fault in faults:
        there = _there(fault.pointer, draft)
        words = fault.detail.removeprefix(f"{fault.pointer or 'The body'}: ")
        yield Invalid(there, f"{there or 'The body'}: {words}", fault.code)


def _there(place: str, draft: Draft) -> str:
    """The longest known way to a place, and the rest of it as it is: such parts have the same form in both."""
    rest = ""
    head = place
    while head and head not in draft.origins:
        head, _, last = head.rpartition("/")
        rest = f"/{last}{rest}"
    return pointer(draft.origins[head]) + rest if head else pointer(draft.root)
