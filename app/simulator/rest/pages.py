"""Lists in pages: `limit` and `continue`.

All pages of one list show one moment (Kubernetes API concepts, "Retrieving large results sets in chunks").
"""

import base64
import json
from collections import OrderedDict
from dataclasses import dataclass

from app.simulator.history import Record
from app.simulator.kinds import Kind
from app.simulator.objects import Object
from app.simulator.refusals import bad_request, expired
from app.simulator.rest.paths import Target
from app.simulator.selectors import Match
from app.simulator.store import Key, Store

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You must start a new list without the continue parameter."
)
_MOMENTS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Page:
    """Some records of a list, and the `metadata` of the list."""

    records: list[Record]
    metadata: Object


class Pages:
    """Keeps the moments that unfinished lists show. They share the records with the store, so they are small."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._moments: OrderedDict[tuple[Kind, int], list[tuple[Key, Record]]] = OrderedDict()

    def expire(self) -> None:
        """Make every continue token too old, as a compaction of etcd does after some minutes."""
        self._moments.clear()

    def page(self, target: Target, matches: Match | None, limit: int, token: str | None) -> Page:
        """One page of a list.

        Raises:
            ApiError: 400 for a token that is none, 410 Expired for one that is too old.
        """
        version, start = (self._store.version, None) if not token else _decode(token)
        moment = self._moment(target.kind, version, fresh=not token)
        chosen: list[Record] = []
        for index, (key, record) in enumerate(moment):
            if (start is not None and key <= start) or not _belongs(target, key, record, matches):
                continue
            if limit and len(chosen) == limit:
                remaining = None if matches else sum(_belongs(target, k, r, None) for k, r in moment[index:])
                self._keep(target.kind, version, moment)
                return _cut_page(version, chosen, remaining)
            chosen.append(record)
        return Page(chosen, {"resourceVersion": str(version)})

    def _moment(self, kind: Kind, version: int, *, fresh: bool) -> list[tuple[Key, Record]]:
        if fresh:
            return self._store.sorted_records(kind)
        moment = self._moments.get((kind, version))
        if moment is None:
            raise expired(_TOO_OLD)
        return moment

    def _keep(self, kind: Kind, version: int, moment: list[tuple[Key, Record]]) -> None:
        self._moments[kind, version] = moment
        self._moments.move_to_end((kind, version))
        if len(self._moments) > _MOMENTS_KEPT:
            self._moments.popitem(last=False)


def _cut_page(version: int, chosen: list[Record], remaining: int | None) -> Page:
    last = chosen[-1].object["metadata"]
    token = _encode(version, (last.get("namespace") or "", last["name"]))
    metadata: Object = {"resourceVersion": str(version), "continue": token}
    if remaining is not None:
        metadata["remainingItemCount"] = remaining
    return Page(chosen, metadata)


def _belongs(target: Target, key: Key, record: Record, matches: Match | None) -> bool:
    if target.namespace is not None and key[0] != target.namespace:
        return False
    return matches is None or matches(record.object)


def _encode(version: int, key: Key) -> str:
    value = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": list(key)}).encode()
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _decode(token: str) -> tuple[int, Key]:
    try:
        value = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = value["start"]
        return int(value["rv"]), (str(namespace), str(name))
    except (ValueError, KeyError, TypeError) as error:
        raise bad_request("continue key is not valid") from error
