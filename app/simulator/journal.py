"""Keeps the store across restarts: a snapshot, and a journal of every change since.

Each change is handed to the operating system before the next one is made, so a killed process loses nothing that was
answered. The files are not synchronised to the disk at each change: a machine that loses power may lose the last
seconds.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from app.simulator.history import Change, encode
from app.simulator.kinds import KINDS, Kind
from app.simulator.objects import Object
from app.simulator.store import Key, Store, first_version, key_of

_LARGEST_JOURNAL_BYTES = 64 * 1024 * 1024
_BY_TYPE = {(kind.api_version, kind.name): kind for kind in KINDS}


class Journal:
    """The files of one store, in a directory of their own. One process at a time."""

    def __init__(self, directory: Path) -> None:
        self._snapshot = directory / "objects.jsonl"
        self._changes = directory / "changes.jsonl"
        self._file: BinaryIO | None = None
        self._written = 0
        self._store: Store | None = None
        directory.mkdir(parents=True, exist_ok=True)

    def open(self) -> Store:
        """The store as it was, with a version above all that it ever gave, so that older watches get 410."""
        objects: dict[tuple[Kind, Key], Object] = {}
        version = 0
        for path in (self._snapshot, self._changes):
            for kind, change, obj in _lines(path):
                place = (kind, key_of(obj))
                version = max(version, int(obj["metadata"]["resourceVersion"]))
                objects.pop(place, None)
                if change != "DELETED":
                    objects[place] = obj
        self._store = Store(max(version + 1, first_version()))
        self._store.restore((kind, obj) for (kind, _), obj in objects.items())
        self._store.listen(self._append)
        self._rewrite()
        return self._store

    def close(self) -> None:
        """Write one snapshot, and no journal any more."""
        if self._file is not None:
            self._rewrite()
            self._file.close()
            self._file = None

    def _append(self, kind: Kind, change: Change) -> None:
        if self._file is None:
            return
        line = _line(change.type, change.record.encoded)
        self._file.write(line)
        self._written += len(line)
        if self._written > _LARGEST_JOURNAL_BYTES:
            self._rewrite()

    def _rewrite(self) -> None:
        """Write every object to a new snapshot and begin an empty journal."""
        if self._store is None:
            return
        fresh = self._snapshot.with_suffix(".new")
        with fresh.open("wb") as file:
            for kind in KINDS:
                file.writelines(_line("ADDED", record.encoded) for record in self._store.records(kind))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._snapshot)
        if self._file is not None:
            self._file.close()
        self._file = self._changes.open("wb", buffering=0)
        self._written = 0


def _line(change: str, encoded: bytes) -> bytes:
    return b'{"type":' + encode(change) + b',"object":' + encoded + b"}\n"


def _lines(path: Path) -> Iterator[tuple[Kind, str, Object]]:
    """The changes in a file, up to a last line that was cut off."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            change = json.loads(line)
            kind = _BY_TYPE.get((change["object"]["apiVersion"], change["object"]["kind"]))
            if kind is not None:
                yield kind, change["type"], change["object"]
