"""Postgres killed with `kill -9` under the processes of the service, and away for a while."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from app.db import create_engine
from app.migrate import upgrade
from app.settings import Settings
from tests.crash.clusters import FOR_EVER
from tests.crash.own_postgres import OwnPostgres
from tests.crash.processes import Service
from tests.crash.verdict import Trial

pytestmark = pytest.mark.timeout(600)

MakeTrial = Callable[[str, str], Trial]
AWAY_SECONDS = 8.0


@pytest.fixture
def postgres() -> Iterator[OwnPostgres]:
    # not in pytest's own folder: each further pytest closes that to other users again, and the server is one
    with tempfile.TemporaryDirectory(prefix="p-") as directory:
        postgres = OwnPostgres(Path(directory) / "postgres")
        yield postgres
        postgres.stop()


@pytest.fixture
async def database_url(postgres: OwnPostgres) -> str:
    """In the place of the database that other tests have on the common server."""
    engine: AsyncEngine = create_engine(Settings(database_url=postgres.url, _env_file=None))
    await upgrade(engine)
    await engine.dispose()
    return postgres.url


@pytest.mark.parametrize("away", [0.0, AWAY_SECONDS], ids=["at-once", "away"])
async def test_a_postgres_that_is_killed_and_comes_back_costs_no_job(
    service: Service, trial: MakeTrial, postgres: OwnPostgres, away: float
) -> None:
    done = f"away for {away:.0f} s while jobs end" if away else "started again at once"
    made, world = trial("kill -9 of Postgres", done), service.world
    controllers = [await service.controller() for _ in range(2)]
    await service.api()
    bystander = await service.submit("bystander", FOR_EVER)
    ending = [await service.submit(f"ending-{index}", 2) for index in range(3)]
    for job_id in (bystander, *ending):
        assert job_id is not None
        await world.until_state(job_id, "running", "succeeded")
    await asyncio.to_thread(postgres.kill)
    answer = await service.ask("POST", f"/v1/teams/{world.team}/jobs", service.body("refused", 1))
    assert answer is not None
    assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (503, "unavailable")
    await asyncio.sleep(away)
    await asyncio.to_thread(postgres.start)
    await made.over()
    later = await world.until(lambda: _accepted(service))
    ends = {job_id: {"succeeded"} for job_id in (*ending, later)}
    await made.holds(ends | {bystander: {"running"}})
    assert all(each.alive for each in controllers)


async def _accepted(service: Service) -> UUID | None:
    """The id of a job, as soon as the API takes one again."""
    path, body = f"/v1/teams/{service.world.team}/jobs", service.body("later", 1)
    answer = await service.ask("POST", path, body, **{"Idempotency-Key": "later"})
    return UUID(answer.json()["id"]) if answer is not None and answer.is_success else None
