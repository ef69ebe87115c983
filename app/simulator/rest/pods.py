"""The subresources of pods: binding, eviction, log."""

from datetime import datetime, timedelta

from aiohttp import web

from app.simulator.clock import Clock
from app.simulator.deletion import Deletion
from app.simulator.history import encode
from app.simulator.metadata import metadata_of
from app.simulator.objects import Object
from app.simulator.refusals import bad_request, internal
from app.simulator.registry import Registry
from app.simulator.rest.bodies import read_core
from app.simulator.rest.deletion_options import deletion_options
from app.simulator.rest.paths import Target
from app.simulator.rest.query import flag, integer, is_dry_run
from app.simulator.rest.resources import Resources, json_answer, method_not_allowed

_CREATED: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_LOG_LINE_SECONDS = 1


class Pods:
    """Answers `pods/<name>/{binding,eviction,log}`."""

    def __init__(self, registry: Registry, resources: Resources) -> None:
        self._registry = registry
        self._resources = resources

    async def answer(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Carry out one request.

        Raises:
            ApiError: whatever refuses it.
        """
        if request.method != ("GET" if target.subresource == "log" else "POST"):
            raise method_not_allowed()
        if target.subresource == "log":
            return self._log(request, target)
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

    def _log(self, request: web.Request, target: Target) -> web.StreamResponse:
        pod = self._registry.get(target.kind, target.key).object
        container = request.query.get("container") or pod["spec"]["containers"][0]["name"]
        if container not in {c["name"] for c in pod["spec"]["containers"]}:
            raise bad_request(f"container {container} is not valid for pod {target.name}")
        stamped = log_lines(pod, container)
        if not stamped:
            raise bad_request(
                f'container "{container}" in pod "{target.name}" is waiting to start: {_waiting_reason(pod, container)}'
            )
        timed = flag(request.query, "timestamps")
        lines = [f"{stamp} {line}" if timed else line for stamp, line in stamped]
        if request.query.get("tailLines"):
            count = max(0, integer(request.query, "tailLines"))
            lines = lines[-count:] if count else []
        text = "".join(f"{line}\n" for line in lines)
        if request.query.get("limitBytes"):
            text = text.encode()[: max(0, integer(request.query, "limitBytes"))].decode(errors="ignore")
        return web.Response(text=text, content_type="text/plain")


def log_lines(pod: Object, container: str) -> list[tuple[str, str]]:
    """The simulated output of a container, as (time, line): one line a second since its start, and its end."""
    statuses = pod["status"].get("containerStatuses", ())
    state: Object = next((s.get("state", {}) for s in statuses if s["name"] == container), {})
    running, ended = state.get("running"), state.get("terminated")
    started = (running or ended or {}).get("startedAt")
    if not started:
        return []
    first = _moment(started)
    last = _moment(ended["finishedAt"] if ended else Clock.stamp())
    lines = [(started, f"simulated: {container} starts on {pod['spec'].get('nodeName')}")]
    for second in range(_LOG_LINE_SECONDS, int((last - first).total_seconds()) + 1, _LOG_LINE_SECONDS):
        stamp = (first + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")
        lines.append((stamp, f"simulated: {container} has run {second} s"))
    if ended:
        lines.append((ended["finishedAt"], f"simulated: {container} ends with exit code {ended['exitCode']}"))
    return lines


def _moment(stamp: str) -> datetime:
    return datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S%z")


def _waiting_reason(pod: Object, container: str) -> str:
    for status in pod["status"].get("containerStatuses", ()):
        if status["name"] == container:
            return str(status.get("state", {}).get("waiting", {}).get("reason", "ContainerCreating"))
    return "ContainerCreating"
