"""`pods/<name>/log` (k8s.io/kubernetes: pkg/registry/core/pod, pkg/kubelet; read at v1.36, answers seen on v1.36.1).

As from a kubelet, no header of a log that is followed is sent before its first line.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiohttp import web

from app.simulator.kinds import NODE, POD
from app.simulator.objects import ApiError, Object
from app.simulator.output import SECOND, Entry, Output, Outputs, Run, Stamps, batched, present_run, previous_run
from app.simulator.refusals import Cause, bad_request, not_found
from app.simulator.registry import Registry
from app.simulator.rest.paths import Target
from app.simulator.rest.query import flag, integer

_ENTRIES_PER_WRITE = 500
_LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What a request asks for. `since` is in nanoseconds, `limit` in bytes."""

    container: str
    follow: bool
    previous: bool
    timestamps: bool
    tail: int | None
    since: int
    limit: int | None


@dataclass(slots=True, eq=False)
class LogStream:
    """One open answer, as the faults see it."""

    namespace: str
    name: str
    request: web.Request
    following: bool
    ending: asyncio.Event = field(default_factory=asyncio.Event)


class PodLogs:
    """Answers for every pod of the registry, and knows which answers are open."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.outputs = Outputs()
        self.open: set[LogStream] = set()

    async def answer(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Carry out one request.

        Raises:
            ApiError: 400, 404, 422; 500 when the node does not answer.
        """
        options = log_options(request.query, str(target.name))
        pod = self._registry.get(POD, target.key).object
        container = _container(pod, options.container)
        node = pod["spec"].get("nodeName")
        if not node:
            return web.Response(status=204)
        self._check_node(node)
        run = previous_run(pod, container) if options.previous else present_run(pod, container)
        if run is None:
            raise _not_to_be_had(pod, container, previous=options.previous)
        namespace, name = target.key
        stream = LogStream(namespace, name, request, options.follow)
        self.open.add(stream)
        try:
            return await self._send(stream, options, pod, container, run)
        finally:
            self.open.discard(stream)

    def write(self, namespace: str, name: str, data: bytes, container: str | None = None) -> None:
        """Let a container print these bytes; the first one unless another is named.

        Raises:
            ApiError: 404, or 400 for a container that the pod does not have.
        """
        pod = self._registry.get(POD, (namespace, name)).object
        self.outputs.write(pod, _container(pod, container or pod["spec"]["containers"][0]["name"]), data)

    def cut(self, *, abrupt: bool = False, following: bool | None = None) -> int:
        """End the open answers, cleanly or by breaking their connections; returns how many."""
        streams = [stream for stream in self.open if following in (None, stream.following)]
        for stream in streams:
            if abrupt and stream.request.transport is not None:
                stream.request.transport.abort()
            else:
                stream.ending.set()
        return len(streams)

    def _check_node(self, name: str) -> None:
        record = self._registry.store.get(NODE, ("", name))
        if record is None:
            raise not_found(POD, name)  # a real API server calls the node a pod here
        conditions = record.object.get("status", {}).get("conditions", ())
        if any(each["type"] == "Ready" and each["status"] != "True" for each in conditions):
            text = f'Get "https://{name}:10250/containerLogs": dial tcp: connect: no route to host'
            raise ApiError(500, "InternalError", text)

    async def _send(
        self, stream: LogStream, options: LogOptions, pod: Object, container: str, run: Run
    ) -> web.StreamResponse:
        writer = _Writer(stream.request, options)
        output, now = self.outputs.of(pod, container, run), time.time_ns()
        latest = 0 if options.tail is None else max((entry.at for entry in output.last(1, now)), default=0)
        sent = max(latest, options.since - 1)
        try:
            sent = await writer.send(_asked(output, options, now), sent)
            while options.follow and not writer.full:
                state = self._state(pod, container, run)
                sent = await writer.send(self.outputs.of(pod, container, state).after(sent, time.time_ns()), sent)
                if state.ended is not None or await _ends(stream.ending):
                    break
            return await writer.close()
        except ConnectionError:
            return writer.response  # the client has gone

    def _state(self, pod: Object, container: str, run: Run) -> Run:
        """The run as it is now; one that is no longer the present one has ended."""
        record = self._registry.store.get(POD, (pod["metadata"]["namespace"], pod["metadata"]["name"]))
        same = record is not None and record.object["metadata"]["uid"] == pod["metadata"]["uid"]
        now = present_run(record.object, container) if record is not None and same else None
        if now is not None and now.restarts == run.restarts:
            return now
        return Run(run.started, run.ended or time.time_ns(), run.restarts, run.exit_code)


def _asked(output: Output, options: LogOptions, now: int) -> Iterator[Entry]:
    """What there is to send at once."""
    if options.tail is None:
        return output.after(options.since - 1, now)
    return (entry for entry in output.last(options.tail, now) if entry.at >= options.since)


async def _ends(ending: asyncio.Event) -> bool:
    try:
        await asyncio.wait_for(ending.wait(), _LOOK_SECONDS)
    except TimeoutError:
        return False
    return True


class _Writer:
    """Writes entries with their stamps, if they are asked for, up to the limit."""

    def __init__(self, request: web.Request, options: LogOptions) -> None:
        self.response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        self.response.enable_chunked_encoding()
        self.full = False
        self._request = request
        self._stamps = Stamps() if options.timestamps else None
        self._left = options.limit
        self._begins = True

    async def send(self, entries: Iterator[Entry], sent: int) -> int:
        """Send them and return the stamp of the last; `sent` when there is none."""
        for batch in batched(entries, _ENTRIES_PER_WRITE):
            data = b"".join(map(self._line, batch))
            if self._left is not None:
                data = data[: self._left]
                self._left -= len(data)
                self.full = not self._left
            await self._prepare()
            await self.response.write(data)
            sent = batch[-1].at
            if self.full:
                break
            await asyncio.sleep(0)  # a log without an end must not hold up the rest of the cluster
        return sent

    async def close(self) -> web.StreamResponse:
        """End the answer."""
        await self._prepare()
        await self.response.write_eof()
        return self.response

    async def _prepare(self) -> None:
        if not self.response.prepared:
            await self.response.prepare(self._request)

    def _line(self, entry: Entry) -> bytes:
        begins, self._begins = self._begins, entry.data.endswith(b"\n")
        return self._stamps.write(entry.at) + entry.data if begins and self._stamps else entry.data


def log_options(query: Mapping[str, str], name: str) -> LogOptions:
    """Read the parameters.

    Raises:
        ApiError: 400 for what cannot be read, 422 for what may not be asked.
    """
    numbers = {
        field: integer(query, field) for field in ("sinceSeconds", "tailLines", "limitBytes") if query.get(field)
    }
    since_time = query.get("sinceTime")
    since = _moment(since_time) if since_time else 0
    causes = list(_causes(numbers, both="sinceSeconds" in numbers and bool(since_time)))
    if causes:
        raise _invalid(name, causes)
    if "sinceSeconds" in numbers:
        since = time.time_ns() - numbers["sinceSeconds"] * SECOND
    return LogOptions(
        container=query.get("container", ""),
        follow=flag(query, "follow"),
        previous=flag(query, "previous"),
        timestamps=flag(query, "timestamps"),
        tail=numbers.get("tailLines"),
        since=since // SECOND * SECOND,  # a kubelet is told whole seconds
        limit=numbers.get("limitBytes"),
    )


def _causes(numbers: Mapping[str, int], *, both: bool) -> Iterator[Cause]:
    if numbers.get("tailLines", 0) < 0:
        text = f"Invalid value: {numbers['tailLines']}: must be greater than or equal to 0"
        yield Cause("tailLines", text)
    if numbers.get("limitBytes", 1) < 1:
        yield Cause("limitBytes", f"Invalid value: {numbers['limitBytes']}: must be greater than 0")
    if both:
        text = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
        yield Cause("[]", text, "FieldValueForbidden")
    elif numbers.get("sinceSeconds", 1) < 1:
        yield Cause("sinceSeconds", f"Invalid value: {numbers['sinceSeconds']}: must be greater than 0")


def _invalid(name: str, causes: list[Cause]) -> ApiError:
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    details = {"name": name, "kind": "PodLogOptions", "causes": listed}
    return ApiError(422, "Invalid", f'PodLogOptions "{name}" is invalid: {text}', details)


def _moment(text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).astimezone(UTC).timestamp()) * SECOND
    except (ValueError, OverflowError) as error:
        why = f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"'
        raise bad_request(why) from error


def _container(pod: Object, wanted: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    names = [each["name"] for each in (*spec.get("initContainers", ()), *spec["containers"])]
    if not wanted and len(names) == 1:
        return str(names[0])
    if not wanted:
        text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
        raise bad_request(text)
    if wanted not in names:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted


def _not_to_be_had(pod: Object, container: str, *, previous: bool) -> ApiError:
    name = pod["metadata"]["name"]
    if previous:
        return bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
    for status in pod["status"].get("containerStatuses", ()):
        if status["name"] == container:
            reason = status.get("state", {}).get("waiting", {}).get("reason", "ContainerCreating")
            return bad_request(f'container "{container}" in pod "{name}" is waiting to start: {reason}')
    return bad_request(f'container "{container}" in pod "{name}" is not available')
