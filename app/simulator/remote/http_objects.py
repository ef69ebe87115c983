"""`Objects` over HTTP: Volcano's part drives an API server anywhere, a real kube-apiserver for instance."""

from collections.abc import AsyncIterator

from app.simulator.kinds import POD, Kind
from app.simulator.objects import ApiError, Object, Propagation, WatchEvent
from app.simulator.remote.answers import is_expired
from app.simulator.remote.connection import MERGE_PATCH, Connection
from app.simulator.remote.watching import Listing, follow

PAGE = 500
_LISTINGS = 3
"""How often a list whose pages expire is begun before that is an error."""


def path_of(kind: Kind, namespace: str | None = None, name: str = "", subresource: str | None = None) -> str:
    """Where objects of a kind are; without a namespace, those of all namespaces."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    within = f"/namespaces/{namespace}" if kind.namespaced and namespace else ""
    parts = (kind.plural, name, subresource)
    return root + within + "".join(f"/{part}" for part in parts if part)


def whole(kind: Kind, obj: Object) -> Object:
    """An object that says what it is, which items of core lists do not, and without what nobody here reads."""
    obj["apiVersion"], obj["kind"] = kind.api_version, kind.name
    obj["metadata"].pop("managedFields", None)
    return obj


class HttpObjects:
    """Implements `objects.Objects` on a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, kind: Kind, namespace: str | None = None, label_selector: str | None = None) -> list[Object]:
        """All objects of a kind, page by page."""
        return (await self._listing(kind, namespace, label_selector)).items

    async def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        """One object."""
        return whole(kind, await self._connection.call("GET", path_of(kind, namespace, name)))

    async def create(self, kind: Kind, obj: Object, *, dry_run: bool = False) -> Object:
        """Create; with `dry_run` everything but storing it is done."""
        body = _with_kind(kind, obj)
        query = {"dryRun": "All"} if dry_run else None
        path = path_of(kind, obj["metadata"].get("namespace"))
        return whole(kind, await self._connection.call("POST", path, body, query=query))

    async def replace(self, kind: Kind, obj: Object, subresource: str | None = None) -> Object:
        """Replace."""
        metadata = obj["metadata"]
        path = path_of(kind, metadata.get("namespace"), metadata["name"], subresource)
        return whole(kind, await self._connection.call("PUT", path, _with_kind(kind, obj)))

    async def patch(
        self, kind: Kind, namespace: str | None, name: str, patch: Object, subresource: str | None = None
    ) -> Object:
        """Apply a JSON merge patch."""
        path = path_of(kind, namespace, name, subresource)
        return whole(kind, await self._connection.call("PATCH", path, patch, content_type=MERGE_PATCH))

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
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        await self._connection.call("DELETE", path_of(kind, namespace, name), options)

    async def bind(self, namespace: str, pod: str, node: str) -> None:
        """Assign a pod to a node."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, "namespace": namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._connection.call("POST", path_of(POD, namespace, pod, "binding"), binding)

    async def watch(self, kind: Kind) -> AsyncIterator[WatchEvent]:
        """An ADDED for every object that exists, then each change, over every reconnection."""
        events = follow(
            f"{kind.plural}",
            lambda: self._listing(kind, None, None),
            lambda query: self._connection.stream(path_of(kind), query),
        )
        async for event in events:
            whole(kind, event.object)
            yield event

    async def _listing(self, kind: Kind, namespace: str | None, label_selector: str | None) -> Listing:
        for _ in range(_LISTINGS - 1):
            try:
                return await self._pages(kind, namespace, label_selector)
            except ApiError as refusal:
                if not is_expired(refusal):
                    raise
        return await self._pages(kind, namespace, label_selector)

    async def _pages(self, kind: Kind, namespace: str | None, label_selector: str | None) -> Listing:
        query = {"limit": str(PAGE)}
        if label_selector:
            query["labelSelector"] = label_selector
        items: list[Object] = []
        while True:
            page = await self._connection.call("GET", path_of(kind, namespace), query=query)
            items += [whole(kind, item) for item in page.get("items") or ()]
            if not page["metadata"].get("continue"):
                return Listing(items, str(page["metadata"]["resourceVersion"]))
            query["continue"] = page["metadata"]["continue"]


def _with_kind(kind: Kind, obj: Object) -> Object:
    """The custom resources of a real API server must say what they are; the argument stays the caller's."""
    return {**obj, "apiVersion": kind.api_version, "kind": kind.name}
