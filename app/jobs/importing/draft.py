"""A job's body in the making, out of a document of somebody else's form. Pure.

Each value remembers the place that it came from, so that every fault, also one that is found much later, points into
the document that was sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.errors import Invalid
from app.jobs.faults import Place
from app.validation import invalid, pointer


@dataclass(frozen=True, slots=True)
class Same:
    """A field that we do not keep: these values mean what happens anyway, any other is refused with these words."""

    values: tuple[Any, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is done about the fields of one kind of object. A field that stands nowhere here is refused as unknown.

    Attributes:
        read: the translation reads them.
        ignored: a server made them, or they have no effect in Volcano either.
        same: some values mean what happens anyway.
        refused: what to do instead; an empty value is as good as none.
    """

    read: frozenset[str]
    ignored: frozenset[str] = frozenset()
    same: Mapping[str, Same] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


class Draft:
    """What one document has given so far: a body, the places that it came from, and what is wrong."""

    def __init__(self, root: Place) -> None:
        self.root = root
        self.faults: list[Invalid] = []
        self.origins: dict[str, Place] = {}

    def fault(self, place: Place, words: str, code: str) -> None:
        """Note that something is wrong at a place of the document; `words` are a sentence without its full stop."""
        self.faults.append(invalid((*self.root, *place), words, code))

    def came_from(self, target: Place, source: Place) -> None:
        """Note from which place of the document a place of the body comes."""
        self.origins[pointer(target)] = (*self.root, *source)

    def mapping(self, value: Any, place: Place) -> dict[str, Any]:
        """The object at a place; an absent one is empty."""
        if value is not None and not isinstance(value, dict):
            self.fault(place, "This has to be a JSON object", "dict-type")
        return value if isinstance(value, dict) else {}

    def sequence(self, value: Any, place: Place) -> list[Any]:
        """The array at a place; an absent one is empty."""
        if value is not None and not isinstance(value, list):
            self.fault(place, "This has to be a JSON array", "list-type")
        return value if isinstance(value, list) else []

    def check(self, members: Mapping[str, Any], place: Place, known: Known) -> None:
        """Refuse every field that would otherwise be dropped."""
        for name, value in members.items():
            if name in known.read or name in known.ignored:
                continue
            if name in known.same:
                if value is not None and not any(_equal(value, allowed) for allowed in known.same[name].values):
                    self.fault((*place, name), known.same[name].words, "unsupported-value")
            elif name not in known.refused:
                self.fault((*place, name), "There is no such field, or none that is known here", "extra-forbidden")
            elif not is_empty(value):
                self.fault((*place, name), known.refused[name], "unsupported-field")


class Section:
    """One object of the body, and where its members come from."""

    def __init__(self, draft: Draft, target: Place) -> None:
        self.draft = draft
        self.target = target
        self.values: dict[str, Any] = {}

    def set(self, name: str, source: Place, value: Any) -> None:
        """Set a member, or only say where it would have come from when the value is None."""
        self.draft.came_from((*self.target, name), source)
        if value is not None:
            self.values[name] = value


def is_empty(value: Any) -> bool:
    """Whether a value is as good as none: Kubernetes' own programs leave out what is null, false or empty."""
    return value is None or value is False or value in ("", [], {})


def text_or_none(value: Any) -> Any:
    """The value, and None for an empty text, which Kubernetes takes for a field that was left out."""
    return None if value == "" else value


def _equal(one: Any, other: Any) -> bool:
    """Equality as JSON has it, where true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
