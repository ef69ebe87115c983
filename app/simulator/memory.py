"""`Objects` inside the process of the API server: the same rules as over HTTP, without the bytes."""

from collections.abc import AsyncIterator

from app.simulator.deletion import Deletion, delete
from app.simulator.kinds import Kind
from app.simulator.objects import Object, Propagation, WatchEvent, clone
from app.simulator.patches import merge_patch
from app.simulator.registry import Registry
from app.simulator.selectors import label_match


class MemoryObjects:
    """Implements `objects.Objects` on a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def list(self, kind: Kind, namespace: str | None = None, label_selector: str | None = None) -> list[Object]:
        """All objects of a kind, in one namespace or in all, in the order of creation."""
        matches = label_match(label_selector)
        objects = [record.object for record in self._registry.store.records(kind, namespace)]
        return [obj for obj in objects if matches(obj)] if matches else objects

    async def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        """One object."""
        return self._registry.get(kind, (namespace or "", name)).object

    async def create(self, kind: Kind, obj: Object) -> Object:
        """Create; the argument stays the caller's."""
        return self._registry.create(kind, clone(obj)).object

    async def replace(self, kind: Kind, obj: Object, subresource: str | None = None) -> Object:
        """Replace; the argument stays the caller's."""
        return self._registry.replace(kind, clone(obj), subresource).object

    async def patch(
        self, kind: Kind, namespace: str | None, name: str, patch: Object, subresource: str | None = None
    ) -> Object:
        """Apply a JSON merge patch."""
        key = (namespace or "", name)
        return self._registry.patch(kind, key, lambda old: merge_patch(old, patch), subresource).object

    async def delete(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        grace_period_seconds: int | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        """Delete, with `uid` as a precondition."""
        options = Deletion(uid=uid, grace_seconds=grace_period_seconds, propagation=propagation)
        delete(self._registry.store, self._registry.admission, kind, (namespace or "", name), options)

    async def bind(self, namespace: str, pod: str, node: str) -> None:
        """Assign a pod to a node."""
        self._registry.bind(namespace, pod, node)

    async def watch(self, kind: Kind) -> AsyncIterator[WatchEvent]:
        """An ADDED for every object that exists, then each change."""
        store = self._registry.store
        with store.history(kind).follow(store.version) as watcher:
            for record in store.records(kind):
                yield WatchEvent("ADDED", record.object)
            async for change in watcher:
                yield WatchEvent(change.type, change.record.object)
