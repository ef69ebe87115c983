"""Pumice as it is, against the scripted cluster: real rows, the real controller, real HTTP."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from app.auth.principal import Principal, Role
from app.cluster.client import ClusterClient
from app.controller import run
from app.controller.term import Term
from app.db import Sessions
from app.jobs import service
from app.jobs.history import job_pods
from app.jobs.schemas import JobCreate
from app.jobs.service import Submission
from app.jobs.transitions import job_events, jobs
from app.queues import service as queue_service
from app.queues.observed import queues
from app.queues.schemas import QueueCreate, QueuePatch
from app.settings import Settings
from app.teams import service as team_service
from app.teams.schemas import QuotaPut, TeamCreate
from tests.replay.cluster import Cluster

TEAM = "nlp"
LIMIT_SECONDS = 30.0
_POLL_SECONDS = 0.001
Object = dict[str, Any]


class World:
    """What a replay does to Pumice, and what it sees of it."""

    def __init__(
        self, settings: Settings, sessions: Sessions, engine: AsyncEngine, client: ClusterClient, cluster: Cluster
    ) -> None:
        self.settings = settings
        self.sessions = sessions
        self._engine = engine
        self._client = client
        self.cluster = cluster
        self._terms: list[Term] = []
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin_term(self, *given: Any) -> Term:
        """Stands in the place of the class `Term`, so that a replay can see when a controller has nothing to do."""
        self._terms.append(Term(*given))
        return self._terms[-1]

    def start(self) -> None:
        self._stop = asyncio.Event()
        controller = run.run_controller(self.settings, self.sessions, self._engine, self._client, stop=self._stop)
        self._task = asyncio.create_task(controller)

    async def stop(self) -> None:
        if self._task is not None:
            self._stop.set()
            await asyncio.wait_for(self._task, 20)
            self._task = None
            self._terms.clear()

    async def make_team(self, namespace: str, wanted: dict[str, Object]) -> None:
        """Make the queues as the recorder's were, and a team that may use them."""
        async with self.sessions.begin() as session:
            for name, spec in wanted.items():
                asked = {key: spec[key] for key in ("weight", "capability", "reclaimable") if key in spec}
                await queue_service.create_queue(session, QueueCreate(name=name, **asked))
            names = sorted(wanted)
            team = TeamCreate(name=TEAM, namespace=namespace, queues=names, default_queue=names[0])
            await team_service.create_team(session, team)
            put = QuotaPut.model_validate({"limits": {"nvidia.com/gpu": {"outstanding": 100}}})
            await team_service.put_quota(session, Principal("admin", Role.ADMIN), TEAM, put, None)

    async def set_capability(self, queue: str, gpus: int) -> None:
        async with self.sessions.begin() as session:
            await queue_service.change_queue(session, queue, QueuePatch(capability={"nvidia.com/gpu": gpus}))

    async def submit(self, body: Object) -> UUID:
        spec = JobCreate.model_validate(body)
        accepted = await service.submit(self.sessions, self.settings, Submission(TEAM, spec, None, "u-nlp"))
        job_id: UUID = accepted.row["id"]
        return job_id

    def look(self, job_id: UUID) -> None:
        """Have a job looked at, as the sweep does every minute."""
        self._terms[-1]._work.add(job_id)

    async def job(self, name: str) -> Any:
        async with self.sessions() as session:
            return (await session.execute(select(jobs).where(jobs.c.name == name))).one()

    async def history(self, job_id: UUID) -> list[Any]:
        async with self.sessions() as session:
            statement = select(job_events).where(job_events.c.job_id == job_id).order_by(job_events.c.id)
            return list(await session.execute(statement))

    async def pods(self, job_id: UUID) -> list[Any]:
        async with self.sessions() as session:
            return list(await session.execute(select(job_pods).where(job_pods.c.job_id == job_id)))

    async def queue(self, name: str) -> Any:
        async with self.sessions() as session:
            return (await session.execute(select(queues).where(queues.c.name == name))).one()

    async def settled(self) -> None:
        """Wait until the controller has seen everything that the cluster shows, and has nothing left to do."""
        await self.until(self._is_settled, "the controller to have seen and done everything")

    async def until(self, true: Callable[[], Any], what: str) -> None:
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                while True:
                    found = true()
                    if asyncio.iscoroutine(found):
                        found = await found
                    if found:
                        return
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise AssertionError(f"Waited {LIMIT_SECONDS:g} seconds for {what}.") from None

    def _is_settled(self) -> bool:
        if not self._terms:
            return False
        term = self._terms[-1]
        return self._has_seen_all(term) and _is_idle(term) and not term._submitter.submitting

    def _has_seen_all(self, term: Term) -> bool:
        for informer in term._view._informers():
            watched = self.cluster.kinds[informer.kind.name]
            shown = {obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"] for obj in watched.listed()}
            known = informer.cache.values()
            if informer.kind.name == "Node":
                if not informer.synced.is_set() or len(known) != len(shown):
                    return False
            elif {seen.uid: seen.resource_version for seen in known} != shown:
                return False
        return True


def _is_idle(term: Term) -> bool:
    schedule = term._work._schedule
    due = schedule.next_due()
    return not schedule._worked_on and (due is None or due > term._work._clock())
