"""Suspending and resuming against a controller that has read the row before."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, update

from app.controller import gather
from app.controller.decide import decide
from app.controller.facts import Situation
from app.db import Sessions, now, table
from app.jobs import history, releases, suspension
from app.jobs.transitions import jobs
from app.teams.models import TeamQuotaRow

team_quotas = table(TeamQuotaRow)


async def read(sessions: Sessions, job_id: UUID) -> tuple[Any, Any]:
    async with sessions() as session:
        rows, at = await history.read_jobs(session, [job_id])
    return rows[job_id], at


async def put(sessions: Sessions, job_id: UUID, **facts: Any) -> None:
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == job_id).values(**facts))


async def resumed_before_it_was_suspended(team: Any, sessions: Sessions, **body: Any) -> UUID:
    """The id of a job that is suspended while its owner wants it to run, as a controller leaves it that dies then."""
    job_id: UUID = (await team.submit("a", **body)).row["id"]
    await suspension.suspend(sessions, job_id, None)
    await put(sessions, job_id, desired="run", attempt=1, attempt_base=1)
    return job_id


async def test_the_owner_who_suspends_again_is_not_overruled(team: Any, sessions: Sessions) -> None:
    job_id = await resumed_before_it_was_suspended(team, sessions)
    row, at = await read(sessions, job_id)
    decision = decide(Situation(job=gather.job_facts(row), now=at))
    assert decision.state == "held"
    await suspension.suspend(sessions, job_id, None)
    async with sessions.begin() as session:
        facts = gather.changed_facts(row, decision, at)
        assert not await history.record_state(session, row, decision.state, at=at, facts=facts)
    after, _ = await read(sessions, job_id)
    assert (after.state, after.desired) == ("suspended", "suspend")


async def test_a_job_that_was_resumed_just_before_a_crash_is_found_by_the_sweep(team: Any, sessions: Sessions) -> None:
    job_id = await resumed_before_it_was_suspended(team, sessions)
    async with sessions() as session:
        assert await history.live_ids(session, None, 10) == [job_id]
    await put(sessions, job_id, desired="suspend")
    async with sessions() as session:
        assert await history.live_ids(session, None, 10) == []


async def test_what_is_suspended_does_not_run_out_of_time(team: Any, sessions: Sessions) -> None:
    job_id = (await team.submit("a", queue_timeout_seconds=5)).row["id"]
    past = now() - timedelta(seconds=1)
    await put(sessions, job_id, desired="suspend", queue_deadline_at=past)
    async with sessions.begin() as session:
        assert await releases.expired(session, 10) == []
        assert not await releases.expire(session, job_id, 5)
    await put(sessions, job_id, desired="run")
    async with sessions.begin() as session:
        (row,) = await releases.expired(session, 10)
        assert (row.id, row.seconds) == (job_id, 5)
        assert await releases.expire(session, row.id, row.seconds)


async def test_a_resumed_job_of_a_team_without_a_quota_is_let_in(team: Any, sessions: Sessions) -> None:
    async with sessions.begin() as session:
        await session.execute(delete(team_quotas))
    job_id = (await team.submit("a", gpus=0)).row["id"]
    await suspension.suspend(sessions, job_id, None)
    await suspension.resume(sessions, job_id, None)
    async with sessions() as session:
        assert await releases.teams_that_hold(session) == [team.name]
