"""The verbs on resources."""

from aiohttp import web

from app.simulator.deletion import Deletion, Outcome, delete
from app.simulator.history import Record, encode
from app.simulator.kinds import NAMESPACE, POD, RESOURCE_QUOTA, SERVICE, SERVICE_ACCOUNT, Kind
from app.simulator.objects import ApiError, Object
from app.simulator.refusals import bad_request, resource, unspecified_version
from app.simulator.registry import Registry
from app.simulator.rest.bodies import read_object, read_patch, read_value
from app.simulator.rest.deletion_options import deletion_options
from app.simulator.rest.pages import Pages
from app.simulator.rest.paths import Target
from app.simulator.rest.query import flag, is_dry_run, list_options, too_large, version_of
from app.simulator.rest.tables import rendering
from app.simulator.rest.watching import Streams

_ALLOWED = {
    "collection": ("GET", "POST", "DELETE"),
    "object": ("GET", "PUT", "PATCH", "DELETE"),
    "status": ("GET", "PUT", "PATCH"),
}
_UNKNOWN_METHOD = "the server does not allow this method on the requested resource"
_VERBS = {"POST": "create", "PUT": "update", "DELETE": "delete"}
_SHOWN_WHEN_DELETED = frozenset({POD, NAMESPACE, SERVICE, SERVICE_ACCOUNT, RESOURCE_QUOTA})
"""Kinds whose deletion is answered with the object, others with a Status (`ReturnDeletedObject` in pkg/registry)."""


def json_answer(body: bytes, status: int = 200) -> web.Response:
    """An answer of JSON."""
    return web.Response(body=body, status=status, content_type="application/json")


class Resources:
    """Answers the requests for collections, objects and their status."""

    def __init__(self, registry: Registry, pages: Pages, streams: Streams) -> None:
        self._registry = registry
        self._store = registry.store
        self._pages = pages
        self._streams = streams

    async def answer(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Carry out one request.

        Raises:
            ApiError: whatever refuses it.
        """
        where = "collection" if target.name is None else target.subresource or "object"
        if request.method not in _ALLOWED[where]:
            raise _not_allowed(request.method, target)
        if request.method == "GET":
            return await self._read(request, target)
        if request.method == "POST":
            return await self._create(request, target)
        if request.method == "DELETE":
            return await self._delete(request, target)
        return await self._update(request, target)

    async def _read(self, request: web.Request, target: Target) -> web.StreamResponse:
        query = request.query
        shown = rendering(target.kind, request.headers.get("Accept", ""), query)
        if target.name is not None and not flag(query, "watch"):
            version = version_of(query)
            if version > self._store.version:
                raise too_large(version, self._store.version)
            record = self._registry.get(target.kind, target.key)
            return json_answer(shown.many([record], _version_of(record)) if shown.table else record.encoded)
        options = list_options(target, query, self._store.version)
        if options.watch:
            return await self._streams.serve(request, target, options, shown)
        page = self._pages.page(target, options.matches, options.limit, options.token)
        return json_answer(shown.many(page.records, page.metadata))

    async def _create(self, request: web.Request, target: Target) -> web.StreamResponse:
        if target.kind.namespaced and target.namespace is None:
            raise method_not_allowed()
        dry_run = is_dry_run(request.query, "CreateOptions")
        obj = await read_object(request, target)
        record = self._registry.create(target.kind, obj, dry_run=dry_run)
        return json_answer(self._shown(request, target.kind, record), 201)

    async def _update(self, request: web.Request, target: Target) -> web.StreamResponse:
        dry_run = is_dry_run(request.query, "PatchOptions" if request.method == "PATCH" else "UpdateOptions")
        if request.method == "PATCH":
            change = await read_patch(request, target.kind)
            record = self._registry.patch(target.kind, target.key, change, target.subresource, dry_run=dry_run)
        else:
            obj = await read_object(request, target)
            self._require_version(target, obj)
            record = self._registry.replace(target.kind, obj, target.subresource, dry_run=dry_run)
        return json_answer(self._shown(request, target.kind, record))

    def _require_version(self, target: Target, obj: Object) -> None:
        """Custom resources cannot be replaced without saying which version is meant."""
        if target.kind.custom and not obj["metadata"].get("resourceVersion"):
            self._registry.get(target.kind, target.key)
            raise unspecified_version(target.kind, target.key[1])

    async def _delete(self, request: web.Request, target: Target) -> web.StreamResponse:
        options = deletion_options(request.query, await read_value(request))
        if target.name is None:
            return self._delete_collection(request, target, options)
        outcome = self.delete_one(target.kind, target.key, options)
        if not outcome.gone or target.kind in _SHOWN_WHEN_DELETED:
            return json_answer(self._shown(request, target.kind, outcome.record))
        return json_answer(encode(_success(target.kind, outcome.record.object)))

    def delete_one(self, kind: Kind, key: tuple[str, str], options: Deletion) -> Outcome:
        """Delete one object."""
        return delete(self._store, self._registry.admission, kind, key, options)

    def _delete_collection(self, request: web.Request, target: Target, options: Deletion) -> web.StreamResponse:
        if target.kind.namespaced and target.namespace is None:
            raise method_not_allowed()
        found = list_options(target, request.query, self._store.version)
        page = self._pages.page(target, found.matches, found.limit, found.token)
        records = []
        for record in page.records:
            metadata = record.object["metadata"]
            key = (metadata.get("namespace") or "", metadata["name"])
            records.append(self.delete_one(target.kind, key, options).record)
        shown = rendering(target.kind, request.headers.get("Accept", ""), request.query)
        return json_answer(shown.many(records, {"resourceVersion": str(self._store.version)}))

    @staticmethod
    def _shown(request: web.Request, kind: Kind, record: Record) -> bytes:
        shown = rendering(kind, request.headers.get("Accept", ""), request.query)
        return shown.many([record], _version_of(record)) if shown.table else record.encoded


def method_not_allowed(message: str = _UNKNOWN_METHOD) -> ApiError:
    """405."""
    return ApiError(405, "MethodNotAllowed", message)


def _not_allowed(method: str, target: Target) -> ApiError:
    """The refusal of a method; custom resources are served by another handler, which has other words."""
    if not target.kind.custom:
        return method_not_allowed()
    if target.name is None:
        return bad_request("name must be provided")
    verb = _VERBS.get(method, method.lower())
    refusal = method_not_allowed(f'{verb} is not supported on resources of kind "{resource(target.kind)}"')
    refusal.details = {"group": target.kind.group, "kind": target.kind.plural}
    return refusal


def _version_of(record: Record) -> Object:
    return {"resourceVersion": record.object["metadata"].get("resourceVersion", "")}


def _success(kind: Kind, obj: Object) -> Object:
    details: Object = {"name": obj["metadata"]["name"], "kind": kind.plural, "uid": obj["metadata"]["uid"]}
    if kind.group:
        details["group"] = kind.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
