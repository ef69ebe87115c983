"""What the crash tests do to the service and the cluster, and what they see of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from app.auth.principal import Principal, Role
from app.cluster.client import ClusterClient
from app.cluster.errors import ClusterThrottled, ClusterUnavailable, NotFound
from app.cluster.volcano import Volcano
from app.controller.run import run_controller
from app.db import Sessions, is_away
from app.jobs import cancellation, service
from app.jobs.models import JobRow
from app.jobs.schemas import JobCreate
from app.jobs.service import Submission
from app.jobs.store import job_pods
from app.jobs.transitions import job_events, jobs, team_usage
from app.queues import service as queue_service
from app.queues.schemas import QueueCreate
from app.settings import Settings
from app.teams import service as team_service
from app.teams.schemas import QuotaPut, TeamCreate

LIMIT_SECONDS = 180.0
GPU = "nvidia.com/gpu"


class World:
    """What a test does to the service and the cluster, and what it sees of them."""

    def __init__(
        self,
        settings: Settings,
        sessions: Sessions,
        engine: AsyncEngine,
        client: ClusterClient,
        cluster: Any,
        *,
        team: str = "nlp",
    ) -> None:
        self.settings = settings
        self.sessions = sessions
        self.engine = engine
        self.client = client
        self.cluster = cluster
        self.team = team
        self.namespace = f"team-{team}"
        self.queue = f"q-{team}"
        self.volcano = Volcano(client)
        self._stops: list[tuple[asyncio.Event, asyncio.Task[None]]] = []

    def start(self, **changes: Any) -> "asyncio.Task[None]":
        """Start a controller; it is stopped at the end of the test."""
        stop = asyncio.Event()
        settings = self.settings.model_copy(update=changes)
        task = asyncio.create_task(run_controller(settings, self.sessions, self.engine, self.client, stop=stop))
        self._stops.append((stop, task))
        return task

    async def stop(self) -> None:
        """Stop every controller cleanly."""
        for stop, _ in self._stops:
            stop.set()
        await asyncio.wait_for(asyncio.gather(*(task for _, task in self._stops), return_exceptions=True), 20)
        self._stops.clear()

    async def make_team(self, quota: dict[str, Any] | None = None, capability: int = 6) -> None:
        async with self.sessions.begin() as session:
            await queue_service.create_queue(session, QueueCreate(name=self.queue, capability={GPU: capability}))
            await team_service.create_team(
                session,
                TeamCreate(name=self.team, namespace=self.namespace, queues=[self.queue], default_queue=self.queue),
            )
            limits = {"limits": {GPU: {"outstanding": 100}}} if quota is None else quota
            put = QuotaPut.model_validate(limits)
            await team_service.put_quota(session, Principal("admin", Role.ADMIN), self.team, put, None)

    async def submit(self, name: str = "a", command: str = "sleep 0.2", **body: Any) -> UUID:
        task = {
            "replicas": body.pop("replicas", 1),
            "image": "registry.test/llm:1",
            "command": ["sh", "-c", command],
            "resources": {"gpus": body.pop("gpus", 1)},
        }
        if "array" in body:
            task = {"array": body.pop("array"), **{key: task[key] for key in task if key != "replicas"}}
        others = [{**task, **other} for other in body.pop("more_tasks", [])]
        spec = JobCreate.model_validate({"name": name, "tasks": [task, *others], **body})
        accepted = await service.submit(self.sessions, self.settings, Submission(self.team, spec, None, "u-nlp"))
        return accepted.row["id"]

    async def cancel(self, job_id: UUID) -> None:
        await cancellation.cancel(self.sessions, job_id, self.team, "not needed")

    async def row(self, job_id: UUID) -> JobRow:
        async with self.sessions() as session:
            found = (await session.execute(select(jobs).where(jobs.c.id == job_id))).one()
        return JobRow(**found._mapping)

    async def rows(self, table: Any) -> list[Any]:
        async with self.sessions() as session:
            return list(await session.execute(select(table)))

    async def states(self) -> list[str]:
        return [row.state for row in await self.rows(jobs)]

    async def events(self, job_id: UUID) -> list[str]:
        found = [row for row in await self.rows(job_events) if row.job_id == job_id]
        return [f"{row.type}:{row.state}" for row in sorted(found, key=lambda row: row.id)]

    async def pods(self) -> list[Any]:
        return await self.rows(job_pods)

    async def usage(self) -> dict[str, int]:
        return {row.resource: row.used for row in await self.rows(team_usage)}

    async def volcano_job(self, job_id: UUID) -> dict[str, Any] | None:
        row = await self.row(job_id)
        try:
            return await self.volcano.get_job(row.k8s_namespace, row.k8s_name)
        except NotFound:
            return None

    async def until(self, condition: Callable[[], Awaitable[Any]], seconds: float = LIMIT_SECONDS) -> Any:
        """Wait until a condition gives something true, and return that."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    found = await _unless_away(condition)
                    if found:
                        return found
                    await asyncio.sleep(0.02)
        except TimeoutError:
            shown = [(row.name, row.state, row.reason, row.message) for row in await self.rows(jobs)]
            pytest.fail(f"not within {seconds} s; jobs: {shown}")

    async def until_state(self, job_id: UUID, *states: str) -> JobRow:
        async def reached() -> JobRow | None:
            row = await self.row(job_id)
            return row if row.state in states else None

        return await self.until(reached)

    async def until_clean(self, job_id: UUID) -> None:
        async def clean() -> bool:
            return (await self.row(job_id)).cleaned_at is not None

        await self.until(clean)


async def _unless_away(condition: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await condition()
    except Exception as error:
        # a test that breaks all connections breaks its own
        if not (is_away(error) or isinstance(error, ClusterUnavailable | ClusterThrottled)):
            raise
        return None
