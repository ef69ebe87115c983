"""What a person reads first of a job: its state, since when, where, how far, how long, and what it used."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, update

from app.db import Sessions
from app.jobs import history
from app.jobs.states import JobState
from app.jobs.store import job_pods
from app.jobs.transitions import jobs, move

GPU = "nvidia.com/gpu"
ALONE = {"nodes", "queued_seconds", "run_seconds", "gpu_seconds", "dependencies"}


class Life:
    """One job, moved through its states at chosen moments of the clock."""

    def __init__(self, nlp: Any, sessions: Sessions, job: dict[str, Any]) -> None:
        self.nlp = nlp
        self.sessions = sessions
        self.id = UUID(job["id"])
        self.begin = datetime(2030, 1, 1, 10, tzinfo=UTC)

    def at(self, minutes: float) -> datetime:
        return self.begin + timedelta(minutes=minutes)

    async def starts(self) -> None:
        await self.set(created_at=self.begin, state_since=self.begin)

    async def set(self, **values: Any) -> None:
        async with self.sessions.begin() as session:
            await session.execute(update(jobs).where(jobs.c.id == self.id).values(values))

    async def move(self, target: JobState, minutes: float, **facts: Any) -> None:
        async with self.sessions.begin() as session:
            assert await move(session, self.id, target, at=self.at(minutes), **facts)

    async def pod(self, uid: str, **fields: Any) -> None:
        row = {"job_id": self.id, "name": f"w-{uid}", "task": "worker", "index": 0, "attempt": 1, "restarts": 0}
        row |= {"uid": uid, "created_at": self.begin, "resources": {GPU: 2}, **fields}
        async with self.sessions.begin() as session:
            await session.execute(insert(job_pods).values(row))

    async def read(self) -> dict[str, Any]:
        answer = await self.nlp.client.get(f"/v1/jobs/{self.id}")
        assert answer.status_code == 200, answer.text
        job: dict[str, Any] = answer.json()
        return job

    async def attempts(self, query: str = "") -> dict[str, Any]:
        answer = await self.nlp.client.get(f"/v1/jobs/{self.id}/attempts{query}")
        assert answer.status_code == 200, answer.text
        page: dict[str, Any] = answer.json()
        return page


@pytest.fixture
async def life(nlp: Any, body: Callable[..., Any], sessions: Sessions) -> Life:
    life = Life(nlp, sessions, await nlp.accepted(body(gpus=2)))
    await life.starts()
    return life


async def test_a_job_that_was_just_accepted(nlp: Any, body: Callable[..., Any]) -> None:
    job = await nlp.accepted(body())
    assert job["state_since"] == job["created_at"]
    assert (job["retries"], job["resumes"], job["retry_of"], job["progress"]) == (0, 0, None, None)
    read = (await nlp.client.get(f"/v1/jobs/{job['id']}")).json()
    assert {name: value for name, value in read.items() if name not in ALONE} == job
    assert (read["nodes"], read["run_seconds"], read["gpu_seconds"]) == ([], None, {})
    assert 0 <= read["queued_seconds"] < 60


async def test_queue_time_run_time_and_suspension_are_three_things(life: Life) -> None:
    """Case H-07: created 10:00, running 12:00, suspended 12:30, running again 13:00, ended 13:15."""
    await life.move(JobState.SUBMITTING, 1)
    await life.move(JobState.PENDING, 2, submitted_at=life.at(2))
    started = {"started_at": life.at(120), "run_started_at": life.at(120)}
    await life.move(JobState.RUNNING, 120.05, **started)
    await life.move(JobState.SUSPENDING, 150)
    over = {"run_started_at": None, "ran_seconds": 1800.0, "attempt_base": 1}
    await life.move(JobState.SUSPENDED, 150, **over)
    suspended = await life.read()
    assert (suspended["queued_seconds"], suspended["run_seconds"]) == (7200, 1800)
    assert suspended["state_since"] == "2030-01-01T12:30:00Z"
    await life.move(JobState.HELD, 180, waiting_since=life.at(180), resumes=1)
    await life.move(JobState.SUBMITTING, 180)
    await life.move(JobState.PENDING, 180)
    await life.move(JobState.RUNNING, 180, run_started_at=life.at(180))
    await life.move(JobState.SUCCEEDED, 196, ended_at=life.at(195))
    read = await life.read()
    assert (read["queued_seconds"], read["run_seconds"], read["resumes"]) == (7200, 2700, 1)
    assert await life.read() == read


async def test_a_job_that_ended_before_it_ran_has_no_run_time(life: Life) -> None:
    await life.move(JobState.CANCELLED, 30, reason="CancelledByUser")
    job = await life.read()
    assert (job["queued_seconds"], job["run_seconds"], job["started_at"]) == (1800, None, None)
    assert job["ended_at"] == job["state_since"] == "2030-01-01T10:30:00Z"


@pytest.mark.parametrize("ended", [True, False])
async def test_waiting_ends_once_a_pod_has_started_whatever_the_state(life: Life, ended: bool) -> None:
    """The start of a pod is seen while the job is still pending, or only with its end."""
    await life.move(JobState.SUBMITTING, 1)
    await life.move(JobState.PENDING, 2, submitted_at=life.at(2))
    started = {"started_at": life.at(10), "run_started_at": life.at(10)}
    if not ended:
        async with life.sessions.begin() as session:
            rows, _ = await history.read_jobs(session, [life.id])
            assert await history.record_state(
                session, rows[life.id], JobState.PENDING, at=life.at(11), facts=started | {"message": "waits for more"}
            )
        started = {}
        await life.move(JobState.RUNNING, 15)
        await life.move(JobState.PENDING, 16)
    await life.move(JobState.FAILED, 25, ended_at=life.at(20), **started)
    job = await life.read()
    assert (job["queued_seconds"], job["run_seconds"]) == (600, 600)


async def test_a_run_that_never_started_waited_all_the_same(life: Life) -> None:
    await life.move(JobState.SUBMITTING, 1)
    await life.move(JobState.PENDING, 2, submitted_at=life.at(2))
    await life.move(JobState.HELD, 10, waiting_since=life.at(10), attempt_base=1)
    await life.move(JobState.CANCELLED, 15)
    assert (await life.read())["queued_seconds"] == 900


async def test_shows_where_it_runs_and_what_it_used(life: Life) -> None:
    await life.move(JobState.SUBMITTING, 0)
    await life.move(JobState.RUNNING, 0, attempt=1, started_at=life.at(0), run_started_at=life.at(0))
    await life.pod("a", phase="Succeeded", node="n1", started_at=life.at(0), ended_at=life.at(1))
    await life.pod("b", phase="Running", node="n2", started_at=life.at(0), gone_at=life.at(2))
    await life.pod("c", phase="Pending", node="n3")
    await life.pod("d", phase="Pending", node=None)
    job = await life.read()
    assert job["nodes"] == ["n3"]
    assert job["gpu_seconds"] == {GPU: 2 * 60.0 + 2 * 120.0}


async def test_attempts_are_listed_in_pages(life: Life) -> None:
    await life.move(JobState.SUBMITTING, 0)
    await life.move(JobState.RUNNING, 0, attempt=3, started_at=life.at(0), run_started_at=life.at(0))
    for attempt, (reason, code) in enumerate((("Error", 3), ("OOMKilled", 137)), start=1):
        start, end = life.at(attempt), life.at(attempt + 0.5)
        failed = {"phase": "Failed", "reason": reason, "exit_code": code, "node": "n1"}
        times = {"started_at": start, "ended_at": end, "gone_at": end}
        await life.pod(f"{attempt}", attempt=attempt, **failed, **times)
    await life.pod("3", attempt=3, phase="Succeeded", exit_code=0, started_at=life.at(3), ended_at=life.at(4))
    await life.move(JobState.SUCCEEDED, 4, ended_at=life.at(4))
    everything = (await life.attempts())["items"]
    told = [(one["attempt"], one["state"], one["reason"], one["exit_code"]) for one in everything]
    assert told == [(1, "failed", "Error", 3), (2, "failed", "OOMKilled", 137), (3, "succeeded", None, None)]
    assert [one["gpu_seconds"] for one in everything] == [{GPU: 60.0}, {GPU: 60.0}, {GPU: 120.0}]
    assert everything[0]["started_at"] == "2030-01-01T10:01:00Z"
    assert everything[-1]["ended_at"] == "2030-01-01T10:04:00Z"
    assert sum(one["gpu_seconds"][GPU] for one in everything) == (await life.read())["gpu_seconds"][GPU]
    seen, query = [], "?limit=1"
    while query:
        page = await life.attempts(query)
        seen += page["items"]
        query = page["next_cursor"] and f"?limit=1&cursor={page['next_cursor']}"
    assert seen == everything


async def test_progress_shows_in_the_job(life: Life) -> None:
    await life.set(progress={"done": 3, "total": 10, "at": "2030-01-01T10:00:00+00:00"})
    progress = {"done": 3, "total": 10, "at": "2030-01-01T10:00:00Z"}
    assert (await life.read())["progress"] == progress
    assert (await life.nlp.listed())[0]["progress"] == progress
