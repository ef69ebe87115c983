"""One suite for two API servers: the simulated one, and with `--control-plane` a real kube-apiserver.

The real one has our CRDs for Volcano's kinds, RBAC, and the controllers of `tests/controlplane`; neither has Volcano.
"""

import asyncio
import io
import json
import ssl
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from tests.controlplane.plane import ControlPlane

JOBS = "/apis/batch.volcano.sh/v1alpha1"
LIMIT_SECONDS = 20


class Api:
    """Requests of an administrator to an API server; answers are (status, value)."""

    def __init__(self, session: aiohttp.ClientSession, url: str, server: SimulatedCluster | ControlPlane) -> None:
        self.session = session
        self.url = url
        self.server = server
        self.authority = str(server.credentials.authority) if isinstance(server, ControlPlane) else None

    async def forget_the_past(self) -> None:
        """Make every resourceVersion and every continue token of before too old, as time does to them."""
        if isinstance(self.server, SimulatedCluster):
            self.server.faults.compact()
            self.server.faults.expire_continues()
        else:
            await asyncio.to_thread(_compact_and_restart, self.server)

    async def call(
        self, method: str, path: str, body: Any = None, content_type: str | None = None, **query: str | int
    ) -> tuple[int, Any]:
        headers = {"Content-Type": content_type or "application/json", "Accept": "application/json"}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self.session.request(
            method, self.url + path, data=io.BytesIO(data), headers=headers, params=query
        ) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if text.startswith(("{", "[")) else text

    async def get(self, path: str, **query: str | int) -> tuple[int, Any]:
        return await self.call("GET", path, **query)

    async def post(self, path: str, body: Any, **query: str | int) -> tuple[int, Any]:
        return await self.call("POST", path, body, **query)

    async def put(self, path: str, body: Any, **query: str | int) -> tuple[int, Any]:
        return await self.call("PUT", path, body, **query)

    async def merge(self, path: str, body: Any, **query: str | int) -> tuple[int, Any]:
        return await self.call("PATCH", path, body, "application/merge-patch+json", **query)

    async def delete(self, path: str, body: Any = None, **query: str | int) -> tuple[int, Any]:
        return await self.call("DELETE", path, body, **query)

    async def until(self, path: str, holds: Callable[[int, Any], bool]) -> None:
        """Read `path` until its status and value satisfy `holds`."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                if holds(*await self.get(path)):
                    return
                await asyncio.sleep(0.02)

    @asynccontextmanager
    async def watch(self, path: str, **query: str | int) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """The events of a watch; lines may have any length."""
        params = {"watch": "1", **query}
        async with self.session.get(self.url + path, params=params) as answer:
            assert answer.status == 200, await answer.text()
            yield self._events(answer)

    @staticmethod
    async def _events(answer: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)


def _compact_and_restart(plane: ControlPlane) -> None:
    """A compaction is not enough: the API server's own cache remembers the last events."""
    plane.compact()
    plane.api_server.kill()
    plane.start_api_server()


@pytest.fixture
async def api(request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    timeout = aiohttp.ClientTimeout(total=LIMIT_SECONDS)
    if request.config.getoption("--control-plane"):
        plane = request.getfixturevalue("control_plane")
        headers = {"Authorization": f"Bearer {plane.admin_token}"}
        trust = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=plane.credentials.authority))
        async with aiohttp.ClientSession(headers=headers, timeout=timeout, connector=trust) as session:
            yield Api(session, plane.url, plane)
        return
    async with (
        SimulatedCluster(SimulatorSettings(nodes=1, speed=20, volcano=False)) as cluster,
        aiohttp.ClientSession(timeout=timeout) as session,
    ):
        yield Api(session, cluster.url, cluster)


@pytest.fixture
def cluster(api: Api) -> SimulatedCluster:
    if not isinstance(api.server, SimulatedCluster):
        pytest.skip("only the simulated cluster has a switch for this")
    return api.server


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    name = f"contract-{uuid.uuid4().hex[:8]}"
    status, body = await api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    assert status == 201, body
    if isinstance(api.server, ControlPlane):  # a pod needs it there
        await api.until(f"/api/v1/namespaces/{name}/serviceaccounts/default", lambda status, _: status == 200)
    yield name
    await api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def jobs(namespace: str) -> str:
    return f"{JOBS}/namespaces/{namespace}/jobs"


@pytest.fixture
def config_maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"
