"""A worker's word over HTTP and the controller's look at its pod meet on one row."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.cluster.observed import Progress
from app.controller.facts import PodFacts
from app.controller.gather import changed_pods
from app.jobs import history, progress
from app.jobs.progress_schemas import ProgressWrite

AT = datetime(2030, 1, 1, tzinfo=UTC)
POD = PodFacts("u", "a-worker-0", "worker", 0, 1, "Running", AT)


class Controller:
    """Looks at the job's only pod: reads its row, and writes later what it saw meanwhile."""

    def __init__(self, team: Any, job_id: Any) -> None:
        self._team = team
        self._job_id = job_id

    async def read(self) -> list[Any]:
        async with self._team.sessions() as session:
            return (await history.read_pods(session, [self._job_id])).get(self._job_id, [])

    async def write(self, recorded: list[Any], pod: PodFacts) -> bool:
        changed = changed_pods(self._job_id, [pod], recorded, AT)
        async with self._team.sessions.begin() as session:
            await history.record_pods(session, changed)
        return bool(changed)


@pytest.fixture
async def job(team: Any) -> Any:
    return (await team.submit("a")).row["id"]


@pytest.fixture
async def controller(team: Any, job: Any) -> Controller:
    controller = Controller(team, job)
    assert await controller.write([], POD)
    return controller


async def say(team: Any, job: Any, done: int) -> None:
    await progress.write(team.sessions, job, "nlp", ProgressWrite(task="worker", index=0, done=done, total=9))


async def test_a_word_that_comes_between_reading_and_writing_is_kept(team: Any, job: Any, controller: Any) -> None:
    await say(team, job, 1)
    recorded = await controller.read()
    await say(team, job, 2)
    assert await controller.write(recorded, replace(POD, progress=Progress(1, 9), restarts=1))
    [row] = await controller.read()
    assert (row.progress, row.restarts) == ({"done": 2, "total": 9}, 1)


async def test_what_stands_on_the_pod_goes_before_what_was_said_over_http(team: Any, job: Any, controller: Any) -> None:
    await say(team, job, 1)
    assert await controller.write(await controller.read(), replace(POD, progress=Progress(5, 9)))
    assert (await controller.read())[0].progress == {"done": 5, "total": 9}


async def test_nothing_is_written_where_nothing_was_said(team: Any, job: Any, controller: Any) -> None:
    assert not await controller.write(await controller.read(), POD)
    await say(team, job, 3)
    assert not await controller.write(await controller.read(), replace(POD, progress=Progress(3, 9)))
