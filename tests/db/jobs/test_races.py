"""Submissions at the same time, with real commits over several connections and two session makers (two replicas)."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import func, select, update

from app import failpoints
from app.db import Sessions, create_engine, create_sessions, now
from app.errors import AppError, QuotaExceeded
from app.failpoints import Crash
from app.jobs import cancellation
from app.jobs.states import JobState
from app.jobs.transitions import job_events, jobs, move
from app.settings import Settings
from app.teams.models import TeamQuotaRow

GPU = "nvidia.com/gpu"


async def outcome(submission: Any) -> str:
    try:
        return "replayed" if (await submission).replayed else "accepted"
    except AppError as error:
        return error.type


async def test_parallel_submissions_never_pass_one_check_together(team: Any, settings: Settings) -> None:
    other = create_engine(settings)
    replica = type(team)(create_sessions(other), settings)
    for round_number in range(5):
        first = await team.submit(f"r{round_number}-first", gpus=6)
        outcomes = await asyncio.gather(
            *(outcome((team if index % 2 else replica).submit(f"r{round_number}-{index}")) for index in range(10))
        )
        assert Counter(outcomes) == {"accepted": 2, "quota-exceeded": 8}
        assert (await team.used())[GPU] == 8
        await _end_everything(team)
        assert await team.used() == {}
        assert first.replayed is False
    await other.dispose()


async def _end_everything(team: Any) -> None:
    async with team.sessions() as session:
        ids = (await session.execute(select(jobs.c.id).where(jobs.c.ended_at.is_(None)))).scalars().all()
    for job_id in ids:
        await cancellation.cancel(team.sessions, job_id, "nlp", None)


async def test_twenty_requests_with_one_key_make_one_job(team: Any, sessions: Sessions) -> None:
    outcomes = await asyncio.gather(*(outcome(team.submit("a", key="k1")) for _ in range(20)))
    assert Counter(outcomes) == {"accepted": 1, "replayed": 19}
    async with sessions() as session:
        assert (await session.execute(select(func.count()).select_from(jobs))).scalar_one() == 1
        assert (await session.execute(select(func.count()).select_from(job_events))).scalar_one() == 1
    assert await team.used() == {GPU: 1, "count/jobs": 1}


async def test_one_name_at_a_time(team: Any) -> None:
    outcomes = await asyncio.gather(*(outcome(team.submit("same", gpus=0)) for _ in range(10)))
    assert Counter(outcomes) == {"accepted": 1, "name-in-use": 9}


async def test_submissions_and_ends_at_the_same_time_keep_the_count(team: Any) -> None:
    async def submit_and_cancel(index: int) -> None:
        try:
            job = await team.submit(f"j{index}", gpus=index % 3 + 1)
        except QuotaExceeded:
            return
        await cancellation.cancel(team.sessions, job.row["id"], "nlp", None)

    await asyncio.gather(*(submit_and_cancel(index) for index in range(30)))
    assert await team.used() == await team.recounted() == {}


async def test_a_cancel_and_a_claim_at_the_same_time(team: Any, sessions: Sessions) -> None:
    """The claim came first and the job is cancelling, or the cancel did and the job never reaches the cluster."""
    for index in range(5):
        job_id = (await team.submit(f"j{index}", gpus=0)).row["id"]

        async def claim(job_id: Any = job_id) -> bool:
            async with sessions.begin() as session:
                return await move(session, job_id, JobState.SUBMITTING, at=now())

        claimed, row = await asyncio.gather(claim(), cancellation.cancel(sessions, job_id, "nlp", None))
        assert row["state"] == (JobState.CANCELLING if claimed else JobState.CANCELLED)


async def test_a_crash_before_the_commit_leaves_nothing(team: Any) -> None:
    failpoints.arm(failpoints.ACCEPT_BEFORE_COMMIT)
    with pytest.raises(Crash):
        await team.submit("a", key="k1")
    assert await team.used() == {}
    failpoints.disarm()
    assert await outcome(team.submit("a", key="k1")) == "accepted"


async def test_a_crash_after_the_commit_is_found_by_the_same_key(team: Any) -> None:
    failpoints.arm(failpoints.ACCEPT_COMMITTED)
    with pytest.raises(Crash):
        await team.submit("a", key="k1")
    failpoints.disarm()
    assert await team.used() == {GPU: 1, "count/jobs": 1}
    assert await outcome(team.submit("a", key="k1")) == "replayed"


async def test_a_held_job_over_quota_is_not_charged(team: Any, sessions: Sessions) -> None:
    async with sessions.begin() as session:
        await session.execute(update(TeamQuotaRow).values(on_over_quota="hold"))
    await team.submit("a", gpus=8)
    over = await team.submit("b", gpus=1)
    assert (over.row["reason"], over.row["charged"]) == ("QuotaExceeded", False)
    assert await team.used() == await team.recounted() == {GPU: 8, "count/jobs": 1}
