"""The objects of one kind as an API server keeps them: what there is, and the log from which watches are served."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from app.cluster.cache import key_of
from app.cluster.kinds import WatchedKind

Object = dict[str, Any]


@dataclass
class Mischief:
    """What a server does to a watch that is legal and hard to bear; nothing by default.

    Attributes:
        twice: chance that a line is sent twice.
        bookmarks: chance that a bookmark follows a line.
    """

    chance: random.Random = field(default_factory=random.Random)
    twice: float = 0.0
    bookmarks: float = 0.0

    def lines(self, kind: WatchedKind, version: int, line: Object) -> list[Object]:
        found = [line, line] if self.chance.random() < self.twice else [line]
        if self.chance.random() < self.bookmarks:
            found.append(bookmark(kind, version))
        return found


def bookmark(kind: WatchedKind, version: int) -> Object:
    bare = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": {"resourceVersion": str(version)}}
    return {"type": "BOOKMARK", "object": bare}


class Watched:
    """One kind.

    Attributes:
        oldest: versions before it are compacted.
        ending: how the open watches are to end: "" for not at all, else `end`, `cut` or `gone`.
    """

    def __init__(self, kind: WatchedKind) -> None:
        self.kind = kind
        self.objects: dict[str, Object] = {}
        self.log: list[tuple[int, Object]] = []
        self.oldest = 0
        self.open_watches = 0
        self.ending = ""
        self.serving = asyncio.Event()
        self.serving.set()
        self.changed = asyncio.Event()

    def write(self, change: str, obj: Object, version: int) -> Object:
        """Store an object, or take it out, and log it."""
        stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
        key = key_of(stored["metadata"].get("namespace"), stored["metadata"]["name"])
        if change == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = stored
        if self._is_selected(stored):
            self.log.append((version, {"type": change, "object": stored}))
        self._wake()
        return stored

    def listed(self) -> list[Object]:
        return [obj for obj in self.objects.values() if self._is_selected(obj)]

    def after(self, version: int) -> list[tuple[int, Object]]:
        return [entry for entry in self.log if entry[0] > version]

    async def interrupt(self, how: str) -> None:
        """End every open watch, and let neither list nor watch begin before `resume`."""
        self.serving.clear()
        self.ending = how
        self._wake()
        while self.open_watches:  # noqa: ASYNC110 - the handlers end at once
            await asyncio.sleep(0.001)
        self.ending = ""

    def resume(self, version: int, *, compacted: bool) -> None:
        """Serve again; with what happened before `version` forgotten if it is compacted."""
        if compacted:
            self.oldest = version
        self.serving.set()

    def _is_selected(self, obj: Object) -> bool:
        label = self.kind.label_selector
        return label is None or label in (obj["metadata"].get("labels") or {})

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()
