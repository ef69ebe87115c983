"""A team whose jobs are submitted straight through the service, without HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from sqlalchemy import select

from app.db import Sessions, now
from app.jobs import service
from app.jobs.schemas import JobCreate
from app.jobs.service import Accepted, Submission
from app.jobs.transitions import JOB_COUNT, jobs, team_usage
from app.queues.models import QueueRow
from app.settings import Settings
from app.teams.models import TeamQueueRow, TeamQuotaRow, TeamRow
from tests.db.jobs.writers import WRITERS, Writer

GPU = "nvidia.com/gpu"


class Team:
    """The team `nlp` in Postgres."""

    name = "nlp"

    def __init__(self, sessions: Sessions, settings: Settings) -> None:
        self.sessions = sessions
        self.settings = settings

    async def create(self, gpus: int) -> None:
        at = now()
        async with self.sessions.begin() as session:
            session.add(QueueRow(name="q-nlp", created_at=at, updated_at=at))
            await session.flush()
            session.add(TeamRow(name="nlp", namespace="team-nlp", default_queue="q-nlp", created_at=at, updated_at=at))
            await session.flush()
            session.add(TeamQueueRow(team="nlp", queue="q-nlp"))
            limits = {GPU: {"per_job": None, "outstanding": gpus}}
            session.add(TeamQuotaRow(team="nlp", limits=limits, updated_at=at, updated_by="tests"))

    async def submit(self, name: str, *, gpus: int = 1, key: str | None = None, **fields: Any) -> Accepted:
        resources = {"gpus": gpus}
        task = {"replicas": 1, "image": "registry.test/llm:1", "resources": resources}
        spec = JobCreate.model_validate({"name": name, "tasks": [task], **fields})
        return await service.submit(self.sessions, self.settings, Submission("nlp", spec, key, "u-nlp"))

    async def used(self) -> dict[str, int]:
        """What `team_usage` says."""
        async with self.sessions() as session:
            rows = await session.execute(select(team_usage.c.resource, team_usage.c.used).where(team_usage.c.used != 0))
            return {row.resource: row.used for row in rows}

    async def recounted(self) -> dict[str, int]:
        """What the charged jobs add up to."""
        total: dict[str, int] = {}
        async with self.sessions() as session:
            for row in await session.execute(select(jobs.c.charges).where(jobs.c.charged)):
                for resource, amount in {**row.charges, JOB_COUNT: 1}.items():
                    total[resource] = total.get(resource, 0) + amount
        return total


@pytest.fixture
async def team(sessions: Sessions, settings: Settings) -> Team:
    """The team nlp with a quota of 8 GPUs."""
    team = Team(sessions, settings)
    await team.create(gpus=8)
    return team


@pytest.fixture
async def writers(team: Any, settings: Settings) -> AsyncIterator[list[Writer]]:
    job_id = (await team.submit("a")).row["id"]
    dsn = settings.async_database_url.replace("+asyncpg", "")
    connections = [await asyncpg.connect(dsn) for _ in range(WRITERS)]
    yield [Writer(connection, job_id) for connection in connections]
    for connection in connections:
        await connection.close()
