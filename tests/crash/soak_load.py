"""The load of a soak: jobs of many sizes, some cancelled, and what may become of each."""

import asyncio
import random
from contextlib import suppress
from typing import Any
from uuid import UUID

import httpx

from tests.crash.processes import Service

_PAUSE_SECONDS = 0.5
_SOONEST_CANCEL_SECONDS, _LATEST_CANCEL_SECONDS = 0.0, 8.0
_CANCELLED_SHARE, _FAILING_SHARE = 0.15, 0.1


class Load:
    """Submits steadily through every fault. `may_end` holds, for each accepted job, the ends that are no surprise."""

    def __init__(self, service: Service, chance: random.Random, every_seconds: float) -> None:
        self._service = service
        self._chance = chance
        self._every_seconds = every_seconds
        self._later: set[asyncio.Task[None]] = set()
        self.may_end: dict[UUID, set[str]] = {}
        self.asked = 0
        self.unanswered = 0
        self.surprises: list[str] = []

    async def run(self, stop: asyncio.Event) -> None:
        """Submit until told to stop, then wait for what is on its way."""
        while not stop.is_set():
            self._begin(self._one(f"job-{self.asked}"))
            self.asked += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._chance.expovariate(1 / self._every_seconds))
        await asyncio.gather(*self._later, return_exceptions=True)

    def allow(self, ids: Any, *states: str) -> None:
        """Somebody did something to these jobs that may end them so."""
        for job_id in ids:
            self.may_end.get(job_id, set()).update(states)

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._later.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._later.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.surprises.append(f"a request: {type(error).__name__} {error}"[:300])

    async def _one(self, name: str) -> None:
        fails = self._service.world.cluster.can_fail_pods and self._chance.random() < _FAILING_SHARE
        body = self._service.body(
            name,
            round(self._chance.uniform(1, 8), 1),
            replicas=self._chance.randint(1, 3),
            gpus=self._chance.randint(0, 2),
            exit_code=3 if fails else 0,
        )
        is_cancelled = self._chance.random() < _CANCELLED_SHARE
        cancelled_after = self._chance.uniform(_SOONEST_CANCEL_SECONDS, _LATEST_CANCEL_SECONDS)
        job_id = await self._until_accepted(name, body)
        self.may_end[job_id] = {"failed"} if fails else {"succeeded"}
        if is_cancelled:
            await asyncio.sleep(cancelled_after)
            self.may_end[job_id].add("cancelled")
            await self._cancelled(job_id)

    async def _until_accepted(self, name: str, body: dict[str, Any]) -> UUID:
        path = f"/v1/teams/{self._service.world.team}/jobs"
        while True:
            answer = await self._service.ask("POST", path, body, **{"Idempotency-Key": name})
            if answer is not None and answer.is_success:
                return UUID(answer.json()["id"])
            assert answer is None or answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, answer.text
            self.unanswered += 1
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _cancelled(self, job_id: UUID) -> None:
        while True:
            answer = await self._service.ask("POST", f"/v1/jobs/{job_id}/cancel")
            if answer is not None and (answer.is_success or answer.status_code == httpx.codes.CONFLICT):
                return
            assert answer is None or answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, answer.text
            await asyncio.sleep(_PAUSE_SECONDS)
