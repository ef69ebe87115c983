"""The check after every fault: wait until all has settled, then nothing may be wrong. It fills a line of the table."""

import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select

from app.cluster.kinds import COMMAND, JOB, POD
from app.cluster.names import INSTALLATION_LABEL, JOB_ID_LABEL
from app.controller.models import InstallationRow
from app.db import table
from app.jobs.states import TERMINAL
from app.jobs.transitions import job_events, jobs, team_usage
from app.queues.models import QueueRow
from tests.crash.invariants import Evidence, orphans, usage_is_right, violations
from tests.crash.processes import Service
from tests.crash.table import Line

Expected = Mapping[UUID, Collection[str]]
_queues = table(QueueRow)


class Trial:
    """One fault on one cluster: what was done, and whether all is well after it."""

    def __init__(self, service: Service, fault: str, done: str) -> None:
        self.service = service
        self.world = service.world
        self._line = Line(fault, done, self.world.cluster.name)
        self._began = time.monotonic()
        self._over_at: datetime | None = None

    @property
    def line(self) -> Line:
        """What is known so far, also when the test fails in the middle."""
        return self._line

    async def over(self) -> None:
        """The fault is over: from now on every `as_of` has to become newer than this moment."""

        async def moment() -> datetime:
            async with self.world.sessions() as session:
                return (await session.execute(select(func.now()))).scalar_one()

        self._over_at = await self.world.until(moment)

    async def holds(self, expected: Expected) -> None:
        """Wait until each job is in one of its expected states and everything is cleaned up, then check all of it."""
        if self._over_at is None:
            await self.over()
        await self.world.until(lambda: self._settled(expected))
        await self.world.until(self._is_clean)
        await self.world.until(self._is_fresh)
        seen = await self._judged()
        assert {row.id for row in seen.rows} == set(expected)
        assert len(seen.creations) == sum(row.k8s_uid is not None for row in seen.rows)
        self._line = self._line.passed()

    async def counted(self, done: str) -> None:
        """Check what holds while nothing runs: no controller has been started."""
        await self._judged()
        self._line = replace(self._line, done=done).passed()

    async def _judged(self) -> Evidence:
        seen = await evidence(self.world)
        self._line = self._line.told(
            accepted=len(seen.rows),
            created=len(seen.creations),
            ends=Counter(row.state for row in seen.rows),
            usage_is_right=usage_is_right(seen),
            orphans=len(orphans(seen)),
            seconds=time.monotonic() - self._began,
        )
        harm = violations(seen)
        assert not harm, "; ".join(harm)
        return seen

    async def _settled(self, expected: Expected) -> bool:
        rows = {row.id: row.state for row in await self.world.rows(jobs)}
        for job_id, states in expected.items():
            assert rows[job_id] not in TERMINAL or rows[job_id] in states, f"{job_id} is {rows[job_id]}, not {states}"
        return all(rows[job_id] in states for job_id, states in expected.items())

    async def _is_clean(self) -> bool:
        """Nothing of an ended job is left: no Job, so no finalizer either, no pod, no Command."""
        rows = await self.world.rows(jobs)
        if any(row.ended_at is not None and row.k8s_uid is not None and row.cleaned_at is None for row in rows):
            return False
        alive = {row.k8s_uid for row in rows if row.ended_at is None and row.k8s_uid is not None}
        if set((await shown(self.world)).values()) != alive:
            return False
        ids = {str(row.id) for row in rows if row.ended_at is None}
        return await self._none_but(POD, ids) and await self._none_but(COMMAND, None)

    async def _none_but(self, kind: Any, ids: set[str] | None) -> bool:
        path = kind.namespace_path(self.world.namespace)
        items = (await self.world.client.request("GET", path)).get("items", [])
        return all(ids and item["metadata"].get("labels", {}).get(JOB_ID_LABEL) in ids for item in items)

    async def _is_fresh(self) -> bool:
        """The queue was observed after the fault, and the leader says that it reaches the cluster."""
        async with self.world.sessions() as session:
            query = select(_queues.c.observed_at).where(_queues.c.name == self.world.queue)
            as_of = (await session.execute(query)).scalar_one()
        if as_of is None or as_of <= self._over_at:
            return False
        answer = await self.service.ask("GET", "/readyz")
        part = answer.json()["controller"] if answer is not None and answer.is_success else None
        return bool(part and part["leading"] and part["cluster"] == "reachable" and len(part["watches"]) == 5)


async def shown(world: Any) -> dict[str, str]:
    """Label -> uid of this installation's Volcano Jobs in the cluster."""
    installation = table(InstallationRow)
    async with world.sessions() as session:
        ours = (await session.execute(select(installation.c.id))).scalar_one_or_none()
    query = {"labelSelector": f"{INSTALLATION_LABEL}={ours}"}
    items = (await world.client.request("GET", JOB.collection_path, query=query))["items"]
    return {item["metadata"]["labels"][JOB_ID_LABEL]: item["metadata"]["uid"] for item in items}


async def evidence(world: Any, ends: Mapping[UUID, tuple[str, Any]] | None = None) -> Evidence:
    """Everything that the invariants speak of, rows and usage as of one moment."""
    # what exists first: a row is written before its Job is created, and marked clean after the Job is gone
    there = await shown(world)
    async with world.sessions() as session:
        await session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        rows = list(await session.execute(select(jobs)))
        events = list(await session.execute(select(job_events).order_by(job_events.c.id)))
        used = list(await session.execute(select(team_usage)))
    creations = [one for one in world.cluster.creations() if one.namespace == world.namespace]
    return Evidence(rows, events, {row.resource: row.used for row in used}, creations, there, ends or {})
