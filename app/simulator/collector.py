"""The garbage collector and the namespace controller of kube-controller-manager, for one store.

Behaviour: kubernetes.io/docs/concepts/architecture/garbage-collection, and volcano-traces 14, where a Job that is
deleted but held by a finalizer keeps its pods until the finalizer goes.
"""

import asyncio

from app.simulator.deletion import FOREGROUND, ORPHAN, Deletion, delete
from app.simulator.history import Change
from app.simulator.kinds import KINDS, NAMESPACE, Kind
from app.simulator.objects import ApiError, Object, Propagation
from app.simulator.registry import Registry
from app.simulator.store import Key, key_of


class Collector:
    """Deletes what lost its owners and what stands in a namespace that goes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._store = registry.store
        self._waiting: dict[tuple[Kind, Key], None] = {}
        self._woken = asyncio.Event()
        self._store.listen(self._observe)

    async def run(self) -> None:
        """Work until cancelled."""
        for kind in KINDS:
            for record in self._store.records(kind):
                self._look_at(kind, record.object)
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._waiting:
                item = next(iter(self._waiting))
                del self._waiting[item]
                self._reconcile(*item)
                await asyncio.sleep(0)  # one object at a time: requests go on in between

    def _observe(self, kind: Kind, change: Change) -> None:
        obj = change.record.object
        if change.type != "DELETED":
            self._look_at(kind, obj)
            return
        for dependent_kind, record in self._store.dependents(obj["metadata"]["uid"]):
            self._wait_for(dependent_kind, key_of(record.object))
        self._wait_for_owners(obj)
        namespace = obj["metadata"].get("namespace")
        if namespace:
            self._wait_for(NAMESPACE, ("", namespace), only_if_deleted=True)

    def _look_at(self, kind: Kind, obj: Object) -> None:
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata:
            if kind is NAMESPACE or metadata.get("finalizers"):
                self._wait_for(kind, key_of(obj))
            self._wait_for_owners(obj)
        elif metadata.get("ownerReferences"):
            self._wait_for(kind, key_of(obj))

    def _wait_for_owners(self, obj: Object) -> None:
        for reference in obj["metadata"].get("ownerReferences") or ():
            owner = self._store.find(reference["uid"])
            if owner is not None:
                self._wait_for(owner[0], key_of(owner[1].object), only_if_deleted=True)

    def _wait_for(self, kind: Kind, key: Key, *, only_if_deleted: bool = False) -> None:
        record = self._store.get(kind, key)
        if record is None or (only_if_deleted and "deletionTimestamp" not in record.object["metadata"]):
            return
        self._waiting[kind, key] = None
        self._woken.set()

    def _reconcile(self, kind: Kind, key: Key) -> None:
        record = self._store.get(kind, key)
        if record is None:
            return
        metadata = record.object["metadata"]
        if "deletionTimestamp" in metadata:
            if kind is NAMESPACE:
                self._empty_namespace(key)
                return
            finalizers = metadata.get("finalizers", ())
            if FOREGROUND in finalizers:
                self._delete_dependents_first(kind, key, metadata)
            elif ORPHAN in finalizers:
                self._orphan_dependents(kind, key, metadata)
        elif metadata.get("ownerReferences"):
            self._delete_without_owner(kind, key, metadata["ownerReferences"])

    def _empty_namespace(self, key: Key) -> None:
        content = [(kind, record) for kind in KINDS for record in self._store.records(kind, key[1])]
        for kind, record in content:
            if "deletionTimestamp" not in record.object["metadata"]:
                self._delete(kind, record.object, "Background")
        if not any(self._store.records(kind, key[1]) for kind in KINDS):
            self._store.remove(NAMESPACE, key)

    def _delete_dependents_first(self, kind: Kind, key: Key, metadata: Object) -> None:
        dependents = self._store.dependents(metadata["uid"])
        for dependent_kind, record in dependents:
            if "deletionTimestamp" not in record.object["metadata"]:
                self._delete(dependent_kind, record.object, "Foreground")
        if not any(_blocks(record.object, metadata["uid"]) for _, record in self._store.dependents(metadata["uid"])):
            self._drop_finalizer(kind, key, FOREGROUND)

    def _orphan_dependents(self, kind: Kind, key: Key, metadata: Object) -> None:
        for dependent_kind, record in self._store.dependents(metadata["uid"]):
            self._drop_owners(dependent_kind, key_of(record.object), {metadata["uid"]})
        self._drop_finalizer(kind, key, ORPHAN)

    def _delete_without_owner(self, kind: Kind, key: Key, references: list[Object]) -> None:
        gone = {reference["uid"] for reference in references if self._store.find(reference["uid"]) is None}
        if len(gone) == len(references):
            record = self._store.get(kind, key)
            if record is not None:
                self._delete(kind, record.object, "Background")
        elif gone:
            self._drop_owners(kind, key, gone)

    def _delete(self, kind: Kind, obj: Object, propagation: Propagation) -> None:
        metadata = obj["metadata"]
        has_dependents = bool(self._store.dependents(metadata["uid"]))
        options = Deletion(uid=metadata["uid"], propagation=propagation if has_dependents else "Background")
        try:
            delete(self._store, self._registry.admission, kind, key_of(obj), options)
        except ApiError:
            return  # refused by admission, or gone in the meantime: the next change asks again

    def _drop_finalizer(self, kind: Kind, key: Key, finalizer: str) -> None:
        def without(obj: Object) -> Object:
            kept = [name for name in obj["metadata"].get("finalizers", ()) if name != finalizer]
            return {**obj, "metadata": {**obj["metadata"], "finalizers": kept}}

        self._registry.patch(kind, key, without)

    def _drop_owners(self, kind: Kind, key: Key, uids: set[str]) -> None:
        def without(obj: Object) -> Object:
            kept = [owner for owner in obj["metadata"]["ownerReferences"] if owner["uid"] not in uids]
            return {**obj, "metadata": {**obj["metadata"], "ownerReferences": kept}}

        self._registry.patch(kind, key, without)


def _blocks(obj: Object, uid: str) -> bool:
    references = obj["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in references)
