"""Claims, put-backs and records on a real Postgres, with real races."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, insert, select, update

from app.db import Sessions, new_id, now, table
from app.jobs import history, releases, worklist
from app.jobs.states import JobState
from app.jobs.store import job_pods
from app.jobs.transitions import add_usage, job_events, jobs, move, team_usage
from app.jobs.worklist import Claim, Created
from app.queues.models import QueueRow
from app.teams.models import TeamRow


@pytest.fixture
async def team(sessions: Sessions) -> None:
    moment = now()
    async with sessions.begin() as session:
        await session.execute(
            insert(table(QueueRow)).values(QueueRow(name="q", created_at=moment, updated_at=moment).model_dump())
        )
        await session.execute(
            insert(table(TeamRow)).values(name="t", namespace="ns", created_at=moment, updated_at=moment)
        )


async def add(sessions: Sessions, name: str = "a", **facts: Any) -> UUID:
    job_id = new_id()
    values = {
        "id": job_id,
        "team": "t",
        "name": name,
        "queue": "q",
        "k8s_namespace": "ns",
        "k8s_name": name,
        "spec": {"tasks": [{"replicas": 1}]},
        "charges": {"nvidia.com/gpu": 2},
        "charged": True,
        "priority": "normal",
        "priority_rank": 1,
        "labels": {},
        "submitted_by": "u",
        "desired": "run",
        "state": "held",
        "counts": {},
        "attempt": 0,
        "created_at": now(),
        "released_at": now(),
        "due_at": datetime(2020, 1, 1, tzinfo=UTC),
    }
    async with sessions.begin() as session:
        await session.execute(insert(jobs).values({**values, **facts}))
        await add_usage(session, "t", {"nvidia.com/gpu": 2}, sign=1)
    return job_id


async def row(sessions: Sessions, job_id: UUID) -> Any:
    async with sessions() as session:
        return (await session.execute(select(jobs).where(jobs.c.id == job_id))).one()


async def events(sessions: Sessions, job_id: UUID) -> list[str]:
    async with sessions() as session:
        found = await session.execute(
            select(job_events.c.type, job_events.c.state).where(job_events.c.job_id == job_id).order_by(job_events.c.id)
        )
        return [f"{event.type}:{event.state}" for event in found]


async def claim(sessions: Sessions, limit: int = 10, lease_seconds: float = 60) -> list[Claim]:
    async with sessions.begin() as session:
        return await worklist.claim_due(session, uuid4(), limit=limit, lease_seconds=lease_seconds)


async def usage(sessions: Sessions) -> dict[str, int]:
    async with sessions() as session:
        return {found.resource: found.used for found in await session.execute(select(team_usage))}


@pytest.mark.usefixtures("team")
async def test_many_claimers_never_claim_one_job_twice(sessions: Sessions) -> None:
    ids = {await add(sessions, f"job-{index}") for index in range(30)}
    claims = [one for batch in await asyncio.gather(*(claim(sessions, 4) for _ in range(12))) for one in batch]
    assert len(claims) == len({one.id for one in claims})
    claims += await claim(sessions, 30)
    assert {one.id for one in claims} == ids
    assert len(claims) == 30


@pytest.mark.usefixtures("team")
async def test_a_claim_takes_what_is_due_released_and_wanted_the_most_urgent_first(sessions: Sessions) -> None:
    low = await add(sessions, "low", priority_rank=0)
    high = await add(sessions, "high", priority_rank=2)
    await add(sessions, "unreleased", released_at=None)
    await add(sessions, "later", due_at=datetime(2100, 1, 1, tzinfo=UTC))
    await add(sessions, "unwanted", desired="cancel", state="cancelling")
    assert [one.id for one in await claim(sessions)] == [high, low]
    found = await row(sessions, high)
    assert found.state == "submitting"
    assert found.lock_expires_at == found.due_at > found.attempted_at
    assert await events(sessions, high) == ["state:submitting"]
    assert await claim(sessions) == []


@pytest.mark.usefixtures("team")
async def test_a_claim_that_ran_out_comes_back_and_says_that_the_job_may_exist(sessions: Sessions) -> None:
    job_id = await add(sessions)
    (first,) = await claim(sessions, lease_seconds=0)
    (second,) = await claim(sessions)
    assert (first.maybe_sent, second.maybe_sent) == (False, True)
    async with sessions.begin() as session:
        assert await worklist.mark_submitted(session, [Created(job_id, first.token, "uid")]) == set()
        assert await worklist.mark_submitted(session, [Created(job_id, second.token, "uid")]) == {job_id}
    found = await row(sessions, job_id)
    assert (found.state, found.k8s_uid, found.attempt, found.lock_token, found.due_at) == (
        "pending",
        "uid",
        1,
        None,
        None,
    )
    assert await events(sessions, job_id) == ["state:submitting", "submitted:pending"]


@pytest.mark.usefixtures("team")
async def test_a_job_cancelled_while_it_was_sent_stays_cancelling_with_its_uid(sessions: Sessions) -> None:
    job_id = await add(sessions)
    (claimed,) = await claim(sessions)
    async with sessions.begin() as session:
        assert await move(session, job_id, JobState.CANCELLING, at=now(), desired="cancel")
    async with sessions.begin() as session:
        assert await worklist.mark_submitted(session, [Created(job_id, claimed.token, "uid")]) == {job_id}
    found = await row(sessions, job_id)
    assert (found.state, found.k8s_uid, found.lock_token) == ("cancelling", "uid", None)


@pytest.mark.usefixtures("team")
async def test_what_was_put_back_is_held_and_due_later_with_one_event_for_one_reason(sessions: Sessions) -> None:
    job_id = await add(sessions)
    for _ in range(2):
        (claimed,) = await claim(sessions)
        async with sessions.begin() as session:
            assert await worklist.put_back(
                session, claimed, due_in_seconds=0, reason="NamespaceMissing", message="x" * 2000
            )
    found = await row(sessions, job_id)
    assert (found.state, found.reason, len(found.message), found.lock_token) == ("held", "NamespaceMissing", 1024, None)
    assert found.released_at is not None
    assert (await events(sessions, job_id)).count("put-back:held") == 1


@pytest.mark.usefixtures("team")
async def test_the_window_can_take_a_release_back(sessions: Sessions) -> None:
    job_id = await add(sessions)
    (claimed,) = await claim(sessions)
    async with sessions.begin() as session:
        await worklist.put_back(session, claimed, due_in_seconds=None, reason="QueueNotOpen", message="closed")
    found = await row(sessions, job_id)
    assert (found.state, found.released_at, found.due_at) == ("held", None, None)


@pytest.mark.usefixtures("team")
async def test_what_may_have_been_sent_is_never_held_again(sessions: Sessions) -> None:
    job_id = await add(sessions)
    await claim(sessions, lease_seconds=0)
    (second,) = await claim(sessions)
    async with sessions.begin() as session:
        await worklist.put_back(session, second, due_in_seconds=None, reason=None, message=None)
    found = await row(sessions, job_id)
    assert (found.state, found.lock_token) == ("submitting", None)
    (third,) = await claim(sessions)
    assert third.maybe_sent


@pytest.mark.usefixtures("team")
async def test_a_refusal_for_good_frees_the_quota_once(sessions: Sessions) -> None:
    await add(sessions)
    (claimed,) = await claim(sessions)
    assert await usage(sessions) == {"nvidia.com/gpu": 2, "count/jobs": 1}
    for expected in (True, False):
        async with sessions.begin() as session:
            assert await worklist.fail(session, claimed, "RejectedByCluster", "no") is expected
    assert await usage(sessions) == {"nvidia.com/gpu": 0, "count/jobs": 0}


@pytest.mark.usefixtures("team")
async def test_a_cancelled_job_is_unlocked_by_whatever_its_claim_came_to(sessions: Sessions) -> None:
    for name in ("put-back", "fail"):
        job_id = await add(sessions, name)
        (claimed,) = await claim(sessions)
        async with sessions.begin() as session:
            await move(session, job_id, JobState.CANCELLING, at=now(), desired="cancel")
        async with sessions.begin() as session:
            if name == "fail":
                assert not await worklist.fail(session, claimed, "RejectedByCluster", "no")
            else:
                assert not await worklist.put_back(session, claimed, due_in_seconds=1, reason=None, message=None)
        found = await row(sessions, job_id)
        assert (found.state, found.lock_token, found.due_at) == ("cancelling", None, None)


@pytest.mark.usefixtures("team")
async def test_releases_count_what_is_pending_and_mark_each_job_once(sessions: Sessions) -> None:
    first = await add(sessions, "first", released_at=None, due_at=None)
    second = await add(sessions, "second", released_at=None, due_at=None, priority_rank=2)
    await add(sessions, "sent", state="pending", due_at=None)
    await add(sessions, "over", released_at=None, due_at=None, charged=False)
    async with sessions.begin() as session:
        assert await releases.queues_with_held_jobs(session) == ["q"]
        assert [held.id for held in await releases.read_held(session, ["q"], 10)] == [second, first]
        pending = (await releases.read_pending(session))["q"]
        assert (pending.jobs, pending.users, pending.used) == (1, {"u": 1}, {"nvidia.com/gpu": 2})
        assert await releases.mark_released(session, [first, second]) == 2
        assert await releases.mark_released(session, [first]) == 0
        assert (await releases.read_pending(session))["q"].jobs == 3
    assert (await row(sessions, first)).due_at is not None
    assert await events(sessions, first) == ["released:held"]


@pytest.mark.usefixtures("team")
async def test_a_state_is_written_only_from_the_state_it_was_decided_from(sessions: Sessions) -> None:
    job_id = await add(sessions, state="pending", k8s_uid="uid", due_at=None)
    async with sessions() as session:
        read, _ = await history.read_jobs(session, [job_id])
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == job_id).values(state="cancelling", desired="cancel"))
    async with sessions.begin() as session:
        before = read[job_id]
        assert not await history.record_state(session, before, JobState.RUNNING, at=now(), facts={})
        assert not await history.record_state(session, before, JobState.PENDING, at=now(), facts={"message": "m"})
    assert (await row(sessions, job_id)).message is None
    assert await events(sessions, job_id) == []


@pytest.mark.usefixtures("team")
@pytest.mark.parametrize("target", [JobState.PENDING, JobState.RUNNING, JobState.SUCCEEDED])
async def test_a_job_that_was_put_back_and_is_then_seen_leaves_the_work_list(
    sessions: Sessions, target: JobState
) -> None:
    job_id = await add(sessions)
    await claim(sessions, lease_seconds=0)
    (second,) = await claim(sessions)
    async with sessions.begin() as session:
        await worklist.put_back(session, second, due_in_seconds=30, reason=None, message=None)
        read, _ = await history.read_jobs(session, [job_id])
    async with sessions.begin() as session:
        assert await history.record_state(session, read[job_id], target, at=now(), facts={"k8s_uid": "uid"})
    found = await row(sessions, job_id)
    assert (found.state, found.k8s_uid, found.due_at, found.lock_token) == (target, "uid", None, None)


@pytest.mark.usefixtures("team")
async def test_pods_are_written_whole_also_when_nothing_else_changed(sessions: Sessions) -> None:
    job_id = await add(sessions, state="pending", k8s_uid="uid", due_at=None)
    pod = {
        **dict.fromkeys(column.name for column in job_pods.columns),
        "uid": "p",
        "job_id": job_id,
        "name": "a-worker-0",
        "attempt": 1,
        "task": "worker",
        "index": 0,
        "phase": "Pending",
        "restarts": 0,
        "resources": {},
        "created_at": now(),
    }
    async with sessions() as session:
        read, _ = await history.read_jobs(session, [job_id])
    for phase in ("Pending", "Running"):
        async with sessions.begin() as session:
            assert await history.record_state(session, read[job_id], JobState.PENDING, at=now(), facts={})
            await history.record_pods(session, [{**pod, "phase": phase}])
    async with sessions() as session:
        assert [found.phase for found in (await history.read_pods(session, [job_id]))[job_id]] == ["Running"]
        assert (await session.execute(select(func.count()).select_from(job_events))).scalar_one() == 0
