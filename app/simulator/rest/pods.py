"""The subresources of pods: binding, eviction, log."""

from aiohttp import web

from app.simulator.deletion import Deletion
from app.simulator.history import encode
from app.simulator.metadata import metadata_of
from app.simulator.objects import Object
from app.simulator.refusals import bad_request, internal
from app.simulator.registry import Registry
from app.simulator.rest.bodies import read_core
from app.simulator.rest.deletion_options import deletion_options
from app.simulator.rest.paths import Target
from app.simulator.rest.pod_logs import PodLogs
from app.simulator.rest.query import is_dry_run
from app.simulator.rest.resources import Resources, json_answer, method_not_allowed

_CREATED: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class Pods:
    """Answers `pods/<name>/{binding,eviction,log}`."""

    def __init__(self, registry: Registry, resources: Resources, logs: PodLogs) -> None:
        self._registry = registry
        self._resources = resources
        self._logs = logs

    async def answer(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Carry out one request.

        Raises:
            ApiError: whatever refuses it.
        """
        if request.method != ("GET" if target.subresource == "log" else "POST"):
            raise method_not_allowed()
        if target.subresource == "log":
            return await self._logs.answer(request, target)
        if target.subresource == "binding":
            return self._bind(request, target, await read_core(request, "Binding"))
        return self._evict(request, target, await read_core(request, "Eviction"))

    def _bind(self, request: web.Request, target: Target, body: Object) -> web.StreamResponse:
        chosen, metadata = body.get("target") or {}, metadata_of(body)
        if not isinstance(chosen, dict) or not isinstance(chosen.get("name") or "", str):
            raise bad_request("json: cannot unmarshal into Go struct field Binding.target of type v1.ObjectReference")
        namespace, name = target.key
        if metadata.get("name") != name:
            raise bad_request("name in URL does not match name in Binding object")
        node, kind = chosen.get("name") or "", chosen.get("kind") or "Node"
        if kind != "Node":
            raise internal(f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"')
        if not node:
            raise internal("target.name: Required value")
        dry_run = is_dry_run(request.query, "CreateOptions")
        self._registry.bind(namespace, name, node, metadata.get("uid"), dry_run=dry_run)
        return json_answer(encode(_CREATED), 201)

    def _evict(self, request: web.Request, target: Target, body: Object) -> web.StreamResponse:
        options: Deletion = deletion_options(request.query, body.get("deleteOptions"))
        self._resources.delete_one(target.kind, target.key, options)
        return json_answer(encode(_CREATED), 201)
