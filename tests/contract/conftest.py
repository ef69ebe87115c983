"""One suite for every API server: the simulated one, or the one that `PUMICE_CONTRACT_URL` names.

The other one needs Volcano's CRDs and no webhooks; `PUMICE_CONTRACT_TOKEN` is its bearer token.
"""

import asyncio
import io
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from app.simulator.cluster import SimulatedCluster, SimulatorSettings

JOBS = "/apis/batch.volcano.sh/v1alpha1"
LIMIT_SECONDS = 20


class Api:
    """Requests to an API server; answers are (status, value)."""

    def __init__(self, session: aiohttp.ClientSession, url: str, cluster: SimulatedCluster | None) -> None:
        self.session = session
        self.url = url
        self.cluster = cluster

    async def call(
        self, method: str, path: str, body: Any = None, content_type: str | None = None, **query: str | int
    ) -> tuple[int, Any]:
        headers = {"Content-Type": content_type or "application/json", "Accept": "application/json"}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self.session.request(
            method, self.url + path, data=io.BytesIO(data), headers=headers, params=query
        ) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if text[:1] in "{[" else text

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


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    url, token = os.environ.get("PUMICE_CONTRACT_URL"), os.environ.get("PUMICE_CONTRACT_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=LIMIT_SECONDS)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        if url:
            yield Api(session, url, None)
            return
        async with SimulatedCluster(SimulatorSettings(nodes=1, speed=20, volcano=False)) as cluster:
            yield Api(session, cluster.url, cluster)


@pytest.fixture
def cluster(api: Api) -> SimulatedCluster:
    if api.cluster is None:
        pytest.skip("only the simulated cluster has a switch for this")
    return api.cluster


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    name = f"contract-{uuid.uuid4().hex[:8]}"
    status, body = await api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    assert status == 201, body
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
