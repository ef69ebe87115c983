"""The application over a real server, since logs are streams; pods are made in a simulated cluster and told by rows."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import insert, update

from app.cluster.client import ClusterSettings
from app.cluster.opening import LazyPodLogs, lazy_pod_logs
from app.commands.http_server import address_of, bind, serving
from app.db import Sessions
from app.jobs import log_tails
from app.jobs.store import job_pods
from app.jobs.transitions import jobs
from app.main import create_app
from app.settings import Settings
from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.kinds import NAMESPACE, POD
from app.simulator.objects import ApiError

LIMIT_SECONDS = 30
NAMESPACE_NAME = "team-nlp"
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@dataclass
class Pod:
    """A pod of a job, as the cluster has it."""

    scene: "Scene"
    name: str
    uid: str
    container: str

    def write(self, data: bytes, container: str | None = None) -> None:
        self.scene.cluster.faults.logs.write(NAMESPACE_NAME, self.name, data, container or self.container)

    async def delete(self) -> None:
        await self.scene.cluster.objects.delete(POD, NAMESPACE_NAME, self.name, grace_period_seconds=0)

        async def gone() -> bool:
            try:
                found = await self.scene.cluster.objects.get(POD, NAMESPACE_NAME, self.name)
            except ApiError:
                return True
            return found["metadata"]["uid"] != self.uid

        await until(gone)

    async def until(self, state: str) -> None:
        async def reached() -> bool:
            found = await self.scene.cluster.objects.get(POD, NAMESPACE_NAME, self.name)
            return any(state in each["state"] for each in found["status"].get("containerStatuses", ()))

        await until(reached)

    async def until_it_starts_again(self) -> None:
        """Wait until a container has ended and its next run is awaited, which a kubelet does for 10 s."""

        async def reached() -> bool:
            found = await self.scene.cluster.objects.get(POD, NAMESPACE_NAME, self.name)
            statuses = found["status"].get("containerStatuses", ())
            return any("waiting" in each["state"] and "terminated" in each.get("lastState", {}) for each in statuses)

        await until(reached)

    async def row(self, **values: Any) -> None:
        async with self.scene.sessions.begin() as session:
            await session.execute(update(job_pods).where(job_pods.c.uid == self.uid).values(values))


class Scene:
    """A team, its jobs, their pods, and a reader of logs."""

    def __init__(self, api: Any, app: FastAPI, client: httpx.AsyncClient, cluster: Any, sessions: Sessions) -> None:
        self.api, self.app, self.client, self.cluster, self.sessions = api, app, client, cluster, sessions

    async def job(self, *tasks: tuple[str, int], state: str = "running", attempt: int = 1, **values: Any) -> UUID:
        """A job with these tasks (name, replicas), in this state."""
        asked = tasks or (("worker", 1),)
        resources = {"cpu": "1", "memory": "1Gi"}
        body = {
            "name": f"job-{len(self.cluster.server.requests)}-{asked[0][0]}",
            "tasks": [
                {"name": name, "replicas": count, "image": "registry.test/llm:1", "resources": resources}
                for name, count in asked
            ],
        }
        answer = await self.client.post("/v1/teams/nlp/jobs", json=body)
        assert answer.status_code == 201, answer.text
        job_id = UUID(answer.json()["id"])
        await self.set(job_id, state=state, attempt=attempt, **values)
        return job_id

    async def set(self, job_id: UUID, **values: Any) -> None:
        if values.get("state") in {"succeeded", "failed", "lost", "cancelled"}:
            values = {"ended_at": NOW, **values}
        async with self.sessions.begin() as session:
            await session.execute(update(jobs).where(jobs.c.id == job_id).values(values))

    async def pod(
        self,
        job_id: UUID,
        task: str = "worker",
        index: int = 0,
        *,
        attempt: int = 1,
        containers: tuple[str, ...] | None = None,
        state: str = "running",
        restart_policy: str = "Never",
        row: dict[str, Any] | None = None,
        **annotations: str,
    ) -> Pod:
        """A pod of a job, on a node, and its row."""
        values = {"run-seconds": "3600", **{name.replace("_", "-"): value for name, value in annotations.items()}}
        names = containers or (task,)
        name = f"{str(job_id)[-8:]}-{task}-{index}"
        made = await self.cluster.objects.create(
            POD,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": NAMESPACE_NAME,
                    "annotations": {f"simulator.pumice.dev/{each}": value for each, value in values.items()},
                },
                "spec": {
                    "restartPolicy": restart_policy,
                    "schedulerName": "nobody",
                    "containers": [{"name": each, "image": "registry.test/llm:1"} for each in names],
                },
            },
        )
        await self.cluster.objects.bind(NAMESPACE_NAME, name, "gpu-1")
        pod = Pod(self, name, made["metadata"]["uid"], task if task in names else names[0])
        await pod.until(state)
        phase = {"running": "Running", "waiting": "Pending"}.get(state, "Failed")
        await self.tell(job_id, pod.uid, name, task, index, attempt=attempt, phase=phase, **(row or {}))
        return pod

    async def tell(self, job_id: UUID, uid: str, name: str, task: str, index: int, **values: Any) -> None:
        """The row of a pod, as the controller writes it."""
        facts = {"attempt": 1, "phase": "Running", "restarts": 0, "resources": {}, "created_at": NOW, **values}
        row = {"uid": uid, "job_id": job_id, "name": name, "task": task, "index": index, **facts}
        async with self.sessions.begin() as session:
            await session.execute(insert(job_pods).values(row))

    async def gone(self, job_id: UUID, task: str = "worker", index: int = 0, **values: Any) -> str:
        """The row of a pod that is not in the cluster any more; returns its uid."""
        uid = f"gone-{task}-{index}-{values.get('attempt', 1)}"
        await self.tell(job_id, uid, f"x-{task}-{index}", task, index, **{"gone_at": NOW, "phase": "Failed", **values})
        return uid

    async def keep(self, job_id: UUID, uid: str, text: bytes, **values: Any) -> None:
        tail = {"uid": uid, "job_id": job_id, "container": "worker", "text": text, "size": len(text)}
        async with self.sessions.begin() as session:
            await log_tails.keep(session, {**tail, "truncated": False, "complete": True, **values}, most=2**20)

    def path(self, job_id: UUID) -> str:
        return f"/v1/jobs/{job_id}/logs"

    async def read(self, job_id: UUID, **query: Any) -> httpx.Response:
        return await self.client.get(self.path(job_id), params=query)

    async def text(self, job_id: UUID, **query: Any) -> bytes:
        answer = await self.read(job_id, **query)
        assert answer.status_code == 200, answer.text
        return answer.content

    async def problem(self, job_id: UUID, **query: Any) -> tuple[int, str]:
        answer = await self.read(job_id, **query)
        return answer.status_code, answer.json()["type"]

    def follow(self, job_id: UUID, **query: Any) -> Any:
        return self.client.stream("GET", self.path(job_id), params={"follow": "true", **query})

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds."""

        async def holds() -> bool:
            return condition()

        await until(holds)

    async def until_open(self, answers: int) -> None:
        """Wait until the cluster has so many logs open."""

        async def reached() -> bool:
            return len(self.cluster.faults.logs.open) == answers

        await until(reached)


class Lines:
    """The bytes of a stream, as far as a test wants to see them."""

    def __init__(self, answer: httpx.Response) -> None:
        self._parts = answer.aiter_raw()
        self._left = b""

    async def take(self, size: int) -> bytes:
        async with asyncio.timeout(LIMIT_SECONDS):
            while len(self._left) < size:
                self._left += await anext(self._parts)
        taken, self._left = self._left[:size], self._left[size:]
        return taken

    async def rest(self) -> bytes:
        async with asyncio.timeout(LIMIT_SECONDS):
            async for part in self._parts:
                self._left += part
        return self._left


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.01)


@pytest.fixture
def lines() -> type[Lines]:
    return Lines


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"log_max_bytes": 1_000_000, "log_max_pods": 8, "log_max_streams": 40})


@pytest.fixture
async def cluster() -> AsyncIterator[SimulatedCluster]:
    async with SimulatedCluster(SimulatorSettings(nodes=1, speed=20, volcano=False)) as cluster:
        await cluster.objects.create(NAMESPACE, {"metadata": {"name": NAMESPACE_NAME}})
        yield cluster


@pytest.fixture
async def pod_logs(cluster: SimulatedCluster) -> AsyncIterator[LazyPodLogs]:
    async with lazy_pod_logs(ClusterSettings(url=cluster.url), streams=40) as logs:
        yield logs


@pytest.fixture
def app(settings: Settings, sessions: Sessions, pod_logs: LazyPodLogs) -> FastAPI:
    return create_app(settings, sessions, pod_logs)


@pytest.fixture
async def scene(api: Any, app: FastAPI, cluster: Any, sessions: Sessions) -> AsyncIterator[Scene]:
    await api.make_team("nlp")
    token = (await api.make_token("nlp", "submitter"))["token"]
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(bind("127.0.0.1", 0))
        server = asyncio.create_task(serving(app, listening)(stop))
        headers = {"Authorization": f"Bearer {token}"}
        client = httpx.AsyncClient(
            base_url=address_of(listening), headers=headers, timeout=LIMIT_SECONDS, trust_env=False
        )
        yield Scene(api, app, client, cluster, sessions)
        await client.aclose()
        stop.set()
        await server
