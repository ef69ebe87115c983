"""Objects, their versions and their owners: what etcd and the watch cache are to a kube-apiserver.

No rule of the API lives here (see `registry`); this only keeps, counts, indexes and tells. Everything is synchronous,
so a caller that does not await between a read and a write has a transaction.
"""

import time
from collections.abc import Callable, Iterable

from app.simulator.history import Change, History, Record
from app.simulator.kinds import KINDS, Kind
from app.simulator.objects import Object

Key = tuple[str, str]
"""Namespace (empty for cluster-wide kinds) and name."""

_START_OF_2024_MILLISECONDS = 1_704_067_200_000


def first_version() -> int:
    """The version an empty store starts at: milliseconds of the clock.

    So the versions of a store that is gone are always too old for the next one (410), never a silent future.
    """
    return int(time.time() * 1000) - _START_OF_2024_MILLISECONDS


def key_of(obj: Object) -> Key:
    """Where an object is kept."""
    return obj["metadata"].get("namespace") or "", obj["metadata"]["name"]


class Store:
    """All objects. What it hands out is shared and never changed afterwards."""

    def __init__(self, version: int | None = None) -> None:
        self.version = first_version() if version is None else version
        self._tables: dict[Kind, dict[Key, Record]] = {kind: {} for kind in KINDS}
        self._histories = {kind: History(self.version) for kind in KINDS}
        self._by_uid: dict[str, tuple[Kind, Key]] = {}
        self._dependents: dict[str, dict[tuple[Kind, Key], None]] = {}
        self._listeners: list[Callable[[Kind, Change], None]] = []

    def get(self, kind: Kind, key: Key) -> Record | None:
        """The present version, or None."""
        return self._tables[kind].get(key)

    def records(self, kind: Kind, namespace: str | None = None) -> list[Record]:
        """All of a kind in the order of creation, in one namespace or in all."""
        table = self._tables[kind]
        if namespace is None:
            return list(table.values())
        return [record for (owner, _), record in table.items() if owner == namespace]

    def sorted_records(self, kind: Kind) -> list[tuple[Key, Record]]:
        """All of a kind ordered by key, as lists over HTTP are."""
        return sorted(self._tables[kind].items(), key=lambda item: item[0])

    def history(self, kind: Kind) -> History:
        """The changes of a kind."""
        return self._histories[kind]

    def find(self, uid: str) -> tuple[Kind, Record] | None:
        """An object by its uid."""
        place = self._by_uid.get(uid)
        return (place[0], self._tables[place[0]][place[1]]) if place else None

    def dependents(self, uid: str) -> list[tuple[Kind, Record]]:
        """The objects that name `uid` in their ownerReferences."""
        places = self._dependents.get(uid, ())
        return [(kind, self._tables[kind][key]) for kind, key in places]

    def listen(self, listener: Callable[[Kind, Change], None]) -> None:
        """Call `listener` synchronously after every change."""
        self._listeners.append(listener)

    def put(self, kind: Kind, obj: Object) -> Record:
        """Store a new or changed object, which belongs to the store from now on."""
        key = key_of(obj)
        previous = self._tables[kind].get(key)
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        record = Record(obj, self.version)
        if previous is not None:
            self._forget_owners(kind, key, previous.object)
        self._tables[kind][key] = record
        self._index(kind, key, obj)
        self._tell(kind, Change("ADDED" if previous is None else "MODIFIED", record, previous))
        return record

    def remove(self, kind: Kind, key: Key, *, silent: bool = False) -> Record:
        """Forget an object. With `silent` no watch hears of it, which is a fault that tests ask for."""
        previous = self._tables[kind].pop(key)
        self.version += 1
        self._forget_owners(kind, key, previous.object)
        self._by_uid.pop(previous.object["metadata"]["uid"], None)
        metadata = {**previous.object["metadata"], "resourceVersion": str(self.version)}
        last = Record({**previous.object, "metadata": metadata}, self.version)
        if not silent:
            self._tell(kind, Change("DELETED", last, previous))
        return last

    def restore(self, objects: Iterable[tuple[Kind, Object]]) -> None:
        """Fill an empty store with the objects of a snapshot, keeping their versions."""
        for kind, obj in objects:
            key = key_of(obj)
            self._tables[kind][key] = Record(obj, int(obj["metadata"]["resourceVersion"]))
            self._index(kind, key, obj)

    def compact(self) -> None:
        """Forget every change so far."""
        for history in self._histories.values():
            history.compact(self.version)

    def _tell(self, kind: Kind, change: Change) -> None:
        self._histories[kind].append(change)
        for listener in self._listeners:
            listener(kind, change)

    def _index(self, kind: Kind, key: Key, obj: Object) -> None:
        self._by_uid[obj["metadata"]["uid"]] = (kind, key)
        for owner in obj["metadata"].get("ownerReferences") or ():
            self._dependents.setdefault(owner["uid"], {})[kind, key] = None

    def _forget_owners(self, kind: Kind, key: Key, obj: Object) -> None:
        for owner in obj["metadata"].get("ownerReferences") or ():
            places = self._dependents.get(owner["uid"], {})
            places.pop((kind, key), None)
            if not places:
                self._dependents.pop(owner["uid"], None)
