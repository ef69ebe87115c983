"""The guarded move over every pair of states: what may not be does not happen, and usage never drifts."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import select, update

from app.db import Sessions
from app.jobs.states import TERMINAL, JobState, can_move
from app.jobs.transitions import job_events, jobs, move

AT = datetime(2030, 1, 1, tzinfo=UTC)


async def put(sessions: Sessions, job_id: UUID, **values: Any) -> None:
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == job_id).values(**values))


async def row_of(sessions: Sessions, job_id: UUID) -> dict[str, Any]:
    async with sessions() as session:
        return dict((await session.execute(select(jobs).where(jobs.c.id == job_id))).mappings().one())


async def events_of(sessions: Sessions, job_id: UUID) -> list[tuple[str, str]]:
    async with sessions() as session:
        statement = select(job_events.c.type, job_events.c.state).where(job_events.c.job_id == job_id)
        return [(row.type, row.state) for row in await session.execute(statement.order_by(job_events.c.id))]


async def moved(sessions: Sessions, job_id: UUID, target: JobState, **arguments: Any) -> bool:
    async with sessions.begin() as session:
        return await move(session, job_id, target, at=AT, **arguments)


@pytest.mark.parametrize("source", list(JobState))
async def test_moves_as_the_table_says(team: Any, sessions: Sessions, source: JobState) -> None:
    for target in JobState:
        job_id = (await team.submit(f"to-{target}", gpus=0)).row["id"]
        ended = {"ended_at": AT, "charged": False} if source in TERMINAL else {}
        await put(sessions, job_id, state=source, due_at=AT, **ended)
        before = await row_of(sessions, job_id)
        assert await moved(sessions, job_id, target, reason="Why", message="Because.") is can_move(source, target)
        after = await row_of(sessions, job_id)
        if not can_move(source, target):
            assert after == before
            assert await events_of(sessions, job_id) == [("accepted", "held")]
            continue
        assert (after["state"], after["reason"], after["message"]) == (target, "Why", "Because.")
        assert await events_of(sessions, job_id) == [("accepted", "held"), ("state", target)]
        assert (after["ended_at"] is not None) is (target in TERMINAL)
        assert after["charged"] is (target not in {*TERMINAL, JobState.SUSPENDED})
        assert (after["due_at"] is None) is (target in TERMINAL)


async def test_given_sources_narrow_the_table_and_never_widen_it(team: Any, sessions: Sessions) -> None:
    job_id = (await team.submit("a")).row["id"]
    assert not await moved(sessions, job_id, JobState.CANCELLED, sources=[JobState.PENDING, JobState.SUSPENDED])
    assert not await moved(sessions, job_id, JobState.RUNNING, sources=[JobState.HELD])
    assert await moved(sessions, job_id, JobState.CANCELLED, sources=[JobState.HELD])


async def test_only_the_holder_of_the_lock_moves(team: Any, sessions: Sessions) -> None:
    job_id = (await team.submit("a")).row["id"]
    token = uuid4()
    await put(sessions, job_id, state=JobState.SUBMITTING, lock_token=token, lock_expires_at=AT)
    assert not await moved(sessions, job_id, JobState.FAILED, lock_token=uuid4())
    assert await moved(sessions, job_id, JobState.FAILED, lock_token=token)
    row = await row_of(sessions, job_id)
    assert (row["lock_token"], row["lock_expires_at"]) == (None, None)


async def test_an_end_frees_the_quota_once(team: Any, sessions: Sessions) -> None:
    job_id = (await team.submit("a", gpus=3)).row["id"]
    await team.submit("b", gpus=2)
    assert await team.used() == {"nvidia.com/gpu": 5, "count/jobs": 2}
    assert await moved(sessions, job_id, JobState.CANCELLED)
    assert not await moved(sessions, job_id, JobState.CANCELLED)
    assert await team.used() == await team.recounted() == {"nvidia.com/gpu": 2, "count/jobs": 1}


async def test_a_given_end_is_kept(team: Any, sessions: Sessions) -> None:
    job_id = (await team.submit("a")).row["id"]
    earlier = datetime(2029, 12, 31, tzinfo=UTC)
    await put(sessions, job_id, state=JobState.RUNNING)
    assert await moved(sessions, job_id, JobState.SUCCEEDED, ended_at=earlier)
    assert (await row_of(sessions, job_id))["ended_at"] == earlier


@hypothesis_settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(walk=st.lists(st.sampled_from(list(JobState)), max_size=12), gpus=st.integers(0, 8))
async def test_usage_equals_a_recount_after_any_walk(
    team: Any, sessions: Sessions, walk: list[JobState], gpus: int
) -> None:
    job_id = (await team.submit(f"w-{uuid4().hex}", gpus=gpus)).row["id"]
    state = JobState.HELD
    for target in walk:
        if await moved(sessions, job_id, target):
            assert can_move(state, target)
            state = target
        assert await team.used() == await team.recounted()
    assert (await row_of(sessions, job_id))["state"] == state
    if state not in TERMINAL:
        # leave the quota free for the next example
        await put(sessions, job_id, state=JobState.HELD)
        assert await moved(sessions, job_id, JobState.CANCELLED)
    assert await team.used() == {}
