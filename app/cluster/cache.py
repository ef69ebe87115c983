"""What an informer knows: one projection for each object, found by key or by an index."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

ObservedT = TypeVar("ObservedT")

IndexBy = Callable[[ObservedT], Hashable | None]
"""Which value an object is found under besides its key; None for none."""


def key_of(namespace: str | None, name: str) -> str:
    """Return the key of an object as client-go writes it: `namespace/name`, or `name` for cluster-wide ones."""
    return f"{namespace}/{name}" if namespace else name


class Cache(Generic[ObservedT]):
    """Projections by key, with one optional index."""

    def __init__(self, index_by: IndexBy[ObservedT] | None = None) -> None:
        self._index_by = index_by
        self._objects: dict[str, ObservedT] = {}
        self._keys: dict[Hashable, set[str]] = {}

    @property
    def objects(self) -> Mapping[str, ObservedT]:
        """A view that is never half-replaced: a new list comes in as a whole."""
        return MappingProxyType(self._objects)

    def get(self, key: str) -> ObservedT | None:
        """Return the object of a key."""
        return self._objects.get(key)

    def indexed(self, value: Hashable) -> tuple[ObservedT, ...]:
        """Return the objects whose index is `value`, in order of their keys."""
        return tuple(self._objects[key] for key in sorted(self._keys.get(value, ())))

    def put(self, key: str, new: ObservedT) -> ObservedT | None:
        """Store an object and return the one that was there."""
        old = self.pop(key)
        self._objects[key] = new
        value = self._index_of(new)
        if value is not None:
            self._keys.setdefault(value, set()).add(key)
        return old

    def pop(self, key: str) -> ObservedT | None:
        """Take an object out and return it."""
        old = self._objects.pop(key, None)
        value = None if old is None else self._index_of(old)
        if value is not None and (keys := self._keys.get(value)):
            keys.discard(key)
            if not keys:
                del self._keys[value]
        return old

    def replace(self, fresh: Mapping[str, ObservedT]) -> Iterator[tuple[str, ObservedT | None, ObservedT | None]]:
        """Replace everything at once, and return what differs.

        Returns:
            (key, old, new) of each object that has changed, appeared (old is None) or vanished (new is None).
        """
        before = self._objects
        self._objects = dict(fresh)
        self._keys = {}
        for key, new in fresh.items():
            value = self._index_of(new)
            if value is not None:
                self._keys.setdefault(value, set()).add(key)
        return _differences(before, fresh)

    def _index_of(self, observed: ObservedT) -> Hashable | None:
        return None if self._index_by is None else self._index_by(observed)


def _differences(
    before: Mapping[str, ObservedT], after: Mapping[str, ObservedT]
) -> Iterator[tuple[str, ObservedT | None, ObservedT | None]]:
    for key, new in after.items():
        old = before.get(key)
        if old != new:
            yield key, old, new
    for key, old in before.items():
        if key not in after:
            yield key, old, None
