"""A thousand submissions of a client whose patience is too short, repeated with their keys: a thousand jobs."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import httpx
import pytest

from app.jobs.transitions import jobs
from tests.crash.processes import TOKEN, Service
from tests.crash.verdict import Trial

pytestmark = pytest.mark.timeout(600)

MakeTrial = Callable[[str, str], Trial]
SUBMISSIONS = 1_000
AT_A_TIME = 32


class _Client:
    """Repeats each submission until it is answered; a share of the answers is thrown away by a short patience."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._slots = asyncio.Semaphore(AT_A_TIME)
        self._path = f"/v1/teams/{service.world.team}/jobs"
        self.patience = 0.05
        self.lost = 0

    async def submit_all(self, http: httpx.AsyncClient) -> list[UUID]:
        return await asyncio.gather(*(self._until_answered(http, f"job-{index}") for index in range(SUBMISSIONS)))

    async def _until_answered(self, http: httpx.AsyncClient, name: str) -> UUID:
        headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": name}
        body = self._service.body(name, 1, gpus=0)
        patience = self.patience
        async with self._slots:
            while True:
                try:
                    answer = await http.post(self._path, json=body, headers=headers, timeout=patience)
                except httpx.TransportError:
                    self.lost += 1
                    patience *= 1.5  # so that every one of them is answered at last
                    continue
                if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                    continue
                assert answer.is_success, answer.text
                return UUID(answer.json()["id"])


async def test_a_thousand_repeated_submissions_are_a_thousand_jobs(service: Service, trial: MakeTrial) -> None:
    made, world = (
        trial("client times out and repeats", f"{SUBMISSIONS} submissions, {AT_A_TIME} at a time"),
        service.world,
    )
    await service.api()
    client = _Client(service)
    async with httpx.AsyncClient(base_url=service.url, trust_env=False) as http:
        ids = await client.submit_all(http)
        lost, client.patience = client.lost, 30.0
        assert await client.submit_all(http) == ids
    assert lost >= SUBMISSIONS / 10, "nearly every answer came in time: nothing was tried"
    assert len(set(ids)) == SUBMISSIONS
    assert {row.id for row in await world.rows(jobs)} == set(ids)
    await made.counted(f"{lost} answers lost, each repeated with its key")
