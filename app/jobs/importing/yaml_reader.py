"""YAML into plain values, within bounds. Only libyaml's events are used: no tag ever makes an object.

What a document may not do: repeat a key (readers keep the first or the last), nest without end, grow by aliases beyond
what was sent (the "billion laughs"), merge by `<<`, or use tags. Each is a fault with the place where it stands.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from app.errors import InvalidYaml, ValidationError
from app.jobs.importing.scalars import Unreadable, plain
from app.validation import invalid

MAXIMUM_DEPTH = 64
MAXIMUM_VALUES = 200_000
MAXIMUM_CHARACTERS = 4_194_304
"""Of all documents together, what stands behind aliases counted each time."""

MAXIMUM_FAULTS = 100
"""After that many, reading ends."""

_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Place = tuple[str | int, ...]


class _Enough(Exception):
    """So much is wrong that the rest is of no interest."""


@dataclass(frozen=True, slots=True)
class _Size:
    values: int
    characters: int

    def minus(self, other: "_Size") -> "_Size":
        return _Size(self.values - other.values, self.characters - other.characters)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet.

    Attributes:
        key: of the mapping's next value; None when the next node is a key.
        before: how much there was before it.
    """

    value: dict[str, Any] | list[Any]
    anchor: str | None
    before: _Size
    key: str | None = None


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A value that aliases may repeat, and how large it is."""

    value: Any
    size: _Size


@dataclass(slots=True)
class _Document:
    """What was read of a document so far."""

    number: int
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, _Anchored] = field(default_factory=dict)
    root: Any = None


def read_yaml(text: str) -> list[Any]:
    """Every document of a stream that holds something.

    Raises:
        InvalidYaml: it is not YAML.
        ValidationError: it is YAML, but not to be taken. Pointers begin with the document's place when there are
            several, as if they were a list.
    """
    reader = _Reader()
    try:
        with suppress(_Enough):
            for event in yaml.parse(text, Loader=_Loader):
                reader.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InvalidYaml(f"The body is not valid YAML{place}.") from error
    if reader.faults:
        skipped = 0 if len(reader.documents) > 1 else 1
        raise ValidationError([invalid(place[skipped:], words, code) for place, words, code in reader.faults])
    return reader.documents


class _Reader:
    """Builds values out of events, with a stack of its own: nothing here recurses."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self.faults: list[tuple[_Place, str, str]] = []
        self._size = _Size(0, 0)
        self._document = _Document(0)

    def take(self, event: Event) -> None:
        """Go on by one event."""
        if isinstance(event, DocumentStartEvent):
            self._document = _Document(len(self.documents))
        elif isinstance(event, DocumentEndEvent):
            if self._document.root is not None:
                self.documents.append(self._document.root)
        elif isinstance(event, CollectionEndEvent):
            self._close()
        elif isinstance(event, NodeEvent):
            self._node(event)

    def _node(self, event: NodeEvent) -> None:
        before = self._size
        self._count(_Size(1, len(event.value) if isinstance(event, ScalarEvent) else 0))
        top = self._document.stack[-1] if self._document.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            top.key = self._key(event, top.value)
        elif isinstance(event, CollectionStartEvent):
            self._open(event, before)
        elif isinstance(event, AliasEvent):
            self._put(self._aliased(event))
        elif isinstance(event, ScalarEvent):
            value = self._scalar(event)
            if event.anchor is not None:
                self._document.anchors[event.anchor] = _Anchored(value, self._size.minus(before))
            self._put(value)

    def _open(self, event: CollectionStartEvent, before: _Size) -> None:
        if event.tag is not None and not event.implicit:
            self._fault("Tags are not taken; leave them out", "yaml-tag")
        if len(self._document.stack) >= MAXIMUM_DEPTH:
            raise ValidationError([invalid((), f"Values nest deeper than {MAXIMUM_DEPTH}", "too-deep")])
        value: dict[str, Any] | list[Any] = {} if isinstance(event, MappingStartEvent) else []
        self._put(value, keep_key=True)
        self._document.stack.append(_Open(value, event.anchor, before))

    def _close(self) -> None:
        done = self._document.stack.pop()
        if done.anchor is not None:
            self._document.anchors[done.anchor] = _Anchored(done.value, self._size.minus(done.before))
        if self._document.stack:
            self._document.stack[-1].key = None

    def _put(self, value: Any, *, keep_key: bool = False) -> None:
        """Add a value to what is open. The key stays while the value, a collection, is open itself."""
        if not self._document.stack:
            self._document.root = value
            return
        top = self._document.stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is not None:
            top.value[top.key] = value
            top.key = top.key if keep_key else None

    def _key(self, event: NodeEvent, members: dict[str, Any]) -> str:
        if not isinstance(event, ScalarEvent):
            # {{ ... }} of a template is a mapping whose key is a mapping
            line = event.start_mark.line + 1 if event.start_mark else 0
            words = f"The key at line {line} is no text; fill templates in before sending"
            raise ValidationError([invalid((), words, "yaml-key")])
        key = self._scalar(event)
        if event.value == "<<" and not event.style:
            self._fault("Merging by << is not taken; write the members out", "yaml-merge")
        elif not isinstance(key, str):
            self._fault("A key has to be a text; put it in quotes", "yaml-key")
        elif key in members:
            self._fault("The key stands twice", "duplicate", key)
        return str(event.value)

    def _scalar(self, event: ScalarEvent) -> Any:
        if event.tag in _TEXT_TAGS:
            return event.value
        if event.tag is not None:
            self._fault("Tags are not taken; leave them out", "yaml-tag")
        try:
            return plain(event.value) if event.implicit[0] else event.value
        except Unreadable as error:
            self._fault(str(error), "yaml-scalar")
            return event.value

    def _aliased(self, event: AliasEvent) -> Any:
        known = self._document.anchors.get(str(event.anchor))
        if known is None:
            self._fault("The alias stands for nothing that ends before it", "yaml-alias")
            return None
        self._count(known.size)
        return known.value

    def _count(self, more: _Size) -> None:
        self._size = _Size(self._size.values + more.values, self._size.characters + more.characters)
        if self._size.values > MAXIMUM_VALUES or self._size.characters > MAXIMUM_CHARACTERS:
            words = (
                f"The body holds more than {MAXIMUM_VALUES} values or {MAXIMUM_CHARACTERS} characters, those behind "
                "aliases counted each time"
            )
            raise ValidationError([invalid((), words, "too-many-values")])

    def _place(self) -> _Place:
        path: list[str | int] = [self._document.number]
        for depth, part in enumerate(self._document.stack, start=1):
            if isinstance(part.value, list):
                # a collection that is open stands in its list already, what is being read now does not
                path.append(len(part.value) - (depth < len(self._document.stack)))
            elif part.key is not None:
                path.append(part.key)
        return tuple(path)

    def _fault(self, words: str, code: str, *below: str) -> None:
        self.faults.append(((*self._place(), *below), words, code))
        if len(self.faults) == MAXIMUM_FAULTS:
            raise _Enough
