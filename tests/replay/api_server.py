"""The scripted cluster's HTTP side: lists, watches in chunks, and the few requests that Pumice makes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from app.cluster.kinds import JOB, WATCHED_KINDS
from tests.replay.cluster import Cluster
from tests.replay.watched import Watched

Object = dict[str, Any]

_EXPIRED = {
    "kind": "Status",
    "status": "Failure",
    "code": 410,
    "reason": "Expired",
    "message": "too old resource version",
}
_ROOT = JOB.collection_path.rpartition("/")[0]


class ApiServer:
    """Serves one cluster.

    Args:
        cluster: what is served.
        clock: the moment that it is in the recording.
    """

    def __init__(self, cluster: Cluster, clock: Callable[[], datetime]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._closing = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        application = web.Application(client_max_size=2**24)
        routes = application.router
        for kind in WATCHED_KINDS:
            routes.add_get(kind.collection_path, self._collection(self._cluster.kinds[kind.name]))
        job = f"{_ROOT}/namespaces/{{namespace}}/{JOB.plural}/{{name}}"
        routes.add_get(job, self._get_job)
        routes.add_patch(job, self._patch_job)
        routes.add_delete(job, self._delete_job)
        routes.add_post("/{path:.*}", self._create)
        routes.add_route("*", "/{path:.*}", self._unforeseen)
        async with TestServer(application) as server:
            yield str(server.make_url("")).rstrip("/")
            self._closing.set()
            for watched in self._cluster.kinds.values():
                await watched.interrupt("end")

    def _collection(self, watched: Watched) -> Callable[[web.Request], Any]:
        async def serve(request: web.Request) -> web.StreamResponse:
            if not self._closing.is_set():
                await watched.serving.wait()
            if "watch" in request.query:
                return await self._watch(watched, request)
            metadata = {"resourceVersion": str(self._cluster.version)}
            return web.json_response({"kind": "List", "metadata": metadata, "items": watched.listed()})

        return serve

    async def _watch(self, watched: Watched, request: web.Request) -> web.StreamResponse:
        version = int(request.query["resourceVersion"])
        if version < watched.oldest:
            return web.json_response(_EXPIRED, status=410)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        watched.open_watches += 1
        try:
            await response.prepare(request)
            await self._stream(watched, version, response)
            if watched.ending == "gone":
                await _send(response, {"type": "ERROR", "object": _EXPIRED})
            if watched.ending == "cut" and request.transport is not None:
                request.transport.abort()
        finally:
            watched.open_watches -= 1
        return response

    async def _stream(self, watched: Watched, sent: int, response: web.StreamResponse) -> None:
        mischief = self._cluster.mischief
        while not watched.ending:
            changed = watched.changed
            for version, line in watched.after(sent):
                for each in mischief.lines(watched.kind, version, line):
                    await _send(response, each)
                sent = version
            if watched.changed is changed:
                await changed.wait()

    async def _get_job(self, request: web.Request) -> web.Response:
        job = self._job(request)
        return _not_found() if job is None else web.json_response(job)

    async def _patch_job(self, request: web.Request) -> web.Response:
        job = self._job(request)
        if job is None:
            return _not_found()
        patched = self._cluster.patch_job(job, await request.json())
        return web.json_response(patched or {"kind": "Status", "code": 422}, status=200 if patched else 422)

    async def _delete_job(self, request: web.Request) -> web.Response:
        job = self._job(request)
        if job is None:
            return _not_found()
        status = self._cluster.delete_job(job, await request.json(), self._clock())
        return web.json_response({"kind": "Status", "code": status}, status=status)

    async def _create(self, request: web.Request) -> web.Response:
        answer = self._cluster.create(request.path.rpartition("/")[2], await request.json())
        return web.json_response(answer.body, status=answer.status)

    async def _unforeseen(self, request: web.Request) -> web.Response:
        self._cluster.unexpected.append(f"{request.method} {request.path}")
        return _not_found()

    def _job(self, request: web.Request) -> Object | None:
        return self._cluster.find(JOB.name, request.match_info["namespace"], request.match_info["name"])


async def _send(response: web.StreamResponse, line: Object) -> None:
    # in two chunks, as a proxy may cut it
    text = json.dumps(line).encode() + b"\n"
    await response.write(text[: len(text) // 2])
    await response.write(text[len(text) // 2 :])


def _not_found() -> web.Response:
    return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}, status=404)
