"""Jobs that wait for others, on a real Postgres with real commits: races, chains, crowds and the quota."""

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select, text, update

from app.controller import leader
from app.controller.settling import Settler
from app.db import Sessions, now
from app.failpoints import Crash
from app.jobs import cancellation, dependency_store, settlements
from app.jobs.states import JobState
from app.jobs.transitions import job_dependencies, job_events, jobs, move
from app.settings import Settings

GPU = "nvidia.com/gpu"


@pytest.fixture
async def settler(sessions: Sessions, settings: Settings) -> Settler:
    """The part of the leader that settles, to be called by hand."""
    lease = await leader.acquire(sessions, uuid4(), 600)
    assert lease is not None
    return Settler(sessions, lease, settings, on_ready=lambda: None)


async def settle(settler: Settler) -> None:
    async with asyncio.timeout(120):
        while await settler.settle_all():
            pass


async def end(sessions: Sessions, job_id: UUID, state: JobState = JobState.FAILED) -> None:
    async with sessions.begin() as session:
        await session.execute(update(jobs).where(jobs.c.id == job_id).values(state=JobState.RUNNING))
        assert await move(session, job_id, state, at=now())


async def row(sessions: Sessions, job_id: UUID) -> Any:
    async with sessions() as session:
        return (await session.execute(select(jobs).where(jobs.c.id == job_id))).one()


async def child_of(team: Any, *parents: UUID, name: str = "child", **link: str) -> UUID:
    job = await team.submit(name, gpus=1, after=[{"job": str(parent), **link} for parent in parents])
    found: UUID = job.row["id"]
    return found


async def until_blocked(sessions: Sessions) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(20):
        while True:
            async with sessions() as session:
                if (await session.execute(text(waiting))).scalar_one():
                    return
            await asyncio.sleep(0.01)


async def test_a_submission_waits_for_an_end_that_is_under_way_and_sees_it(team: Any, sessions: Sessions) -> None:
    parent = (await team.submit("parent")).row["id"]
    async with sessions.begin() as session:
        assert await move(session, parent, JobState.FAILED, at=now())
        submission = asyncio.create_task(child_of(team, parent))
        await until_blocked(sessions)
        assert not submission.done()
    child = await row(sessions, await submission)
    assert (child.state, child.reason, child.charged) == ("failed", "DependencyFailed", False)
    assert child.ended_at == child.created_at
    assert await team.used() == await team.recounted() == {}


async def test_an_end_waits_for_a_submission_that_is_under_way_and_finds_it(
    team: Any, sessions: Sessions, settler: Settler, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = (await team.submit("parent")).row["id"]
    inserted, go_on = asyncio.Event(), asyncio.Event()
    insert = dependency_store.insert_links

    async def insert_and_wait(*arguments: Any) -> None:
        await insert(*arguments)
        inserted.set()
        await go_on.wait()

    monkeypatch.setattr(dependency_store, "insert_links", insert_and_wait)
    submission = asyncio.create_task(child_of(team, parent))
    await inserted.wait()
    ending = asyncio.create_task(end(sessions, parent))
    await until_blocked(sessions)
    go_on.set()
    child = await submission
    await ending
    assert (await row(sessions, child)).state == "held"
    assert (await row(sessions, parent)).dependents_due
    await settle(settler)
    assert (await row(sessions, child)).reason == "DependencyFailed"
    assert not (await row(sessions, parent)).dependents_due


async def test_submissions_and_ends_at_the_same_moment_leave_nobody_waiting(
    team: Any, sessions: Sessions, settler: Settler
) -> None:
    for round_number in range(20):
        parent = (await team.submit(f"parent-{round_number}", gpus=0)).row["id"]
        children, _ = await asyncio.gather(
            asyncio.gather(*(child_of(team, parent, name=f"child-{round_number}-{n}") for n in range(3))),
            end(sessions, parent, JobState.FAILED),
        )
        await settle(settler)
        assert {(await row(sessions, child)).reason for child in children} == {"DependencyFailed"}
    assert await team.used() == await team.recounted() == {}


async def test_a_parent_of_another_team_cannot_be_told_from_none(team: Any, sessions: Sessions) -> None:
    async with sessions.begin() as session:
        read = await session.connection()
        driver: Any = (await read.get_raw_connection()).driver_connection
        parent = (await team.submit("parent")).row["id"]
        assert set(await dependency_store.read_parents(driver, "nlp", {parent, uuid4()})) == {parent}
        assert await dependency_store.read_parents(driver, "vision", {parent}) == {}


@pytest.mark.parametrize(
    ("ended", "condition", "otherwise", "expected"),
    [
        (JobState.SUCCEEDED, "succeeded", "fail", ("held", "WaitingForRelease")),
        (JobState.SUCCEEDED, "finished", "fail", ("held", "WaitingForRelease")),
        (JobState.FAILED, "finished", "fail", ("held", "WaitingForRelease")),
        (JobState.LOST, "succeeded", "fail", ("failed", "DependencyFailed")),
        (JobState.FAILED, "succeeded", "cancel", ("cancelled", "DependencyFailed")),
    ],
)
async def test_a_waiting_job_follows_the_end_of_its_parent(
    team: Any,
    sessions: Sessions,
    settler: Settler,
    *,
    ended: JobState,
    condition: str,
    otherwise: str,
    expected: tuple[str, str],
) -> None:
    parent = (await team.submit("parent")).row["id"]
    child = await child_of(team, parent, condition=condition, otherwise=otherwise)
    before = await row(sessions, child)
    assert (before.state, before.reason, before.open_parents) == ("held", "WaitingForDependencies", 1)
    assert await team.used() == {GPU: 2, "count/jobs": 2}
    await settle(settler)
    assert (await row(sessions, child)).open_parents == 1
    await end(sessions, parent, ended)
    await settle(settler)
    after = await row(sessions, child)
    assert (after.state, after.reason) == expected
    assert (after.ended_at is None) == (expected[0] == "held")
    assert await team.used() == await team.recounted()
    async with sessions() as session:
        lines = await session.execute(select(job_events.c.type, job_events.c.state).where(job_events.c.job_id == child))
        assert [tuple(line) for line in lines] == [
            ("accepted", "held"),
            ("reason" if expected[0] == "held" else "state", expected[0]),
        ]


async def test_a_job_waits_for_the_last_of_its_parents(team: Any, sessions: Sessions, settler: Settler) -> None:
    parents = [(await team.submit(f"parent-{number}")).row["id"] for number in range(3)]
    child = await child_of(team, *parents)
    for number, parent in enumerate(parents):
        found = await row(sessions, child)
        assert found.open_parents == 3 - number
        assert f"parent-{number} " in found.message
        await end(sessions, parent, JobState.SUCCEEDED)
        await settle(settler)
    assert (await row(sessions, child)).reason == "WaitingForRelease"


async def test_parents_that_have_ended_before_are_decided_at_once(team: Any, sessions: Sessions) -> None:
    good, bad, running = [(await team.submit(name)).row["id"] for name in ("good", "bad", "running")]
    await end(sessions, good, JobState.SUCCEEDED)
    await end(sessions, bad, JobState.FAILED)
    free = await row(sessions, await child_of(team, good, name="free"))
    assert (free.state, free.reason, free.open_parents) == ("held", "WaitingForRelease", 0)
    waits = await row(sessions, await child_of(team, good, running, name="waits"))
    assert (waits.reason, waits.open_parents) == ("WaitingForDependencies", 1)
    over = await row(sessions, await child_of(team, running, bad, name="over", otherwise="cancel"))
    assert (over.state, over.reason) == ("cancelled", "DependencyFailed")
    again = await row(sessions, await child_of(team, running, bad, name="over"))
    assert (again.state, again.name) == ("failed", "over")


async def test_a_chain_of_a_thousand_jobs_settles(team: Any, sessions: Sessions, settler: Settler) -> None:
    first = (await team.submit("job-0", gpus=0)).row["id"]
    await _make_chain(sessions, first, 1000)
    await end(sessions, first, JobState.FAILED)
    await settle(settler)
    async with sessions() as session:
        found = await session.execute(
            select(jobs.c.state, jobs.c.reason, jobs.c.dependents_due, func.count()).group_by(
                jobs.c.state, jobs.c.reason, jobs.c.dependents_due
            )
        )
        assert {tuple(line) for line in found} == {
            ("failed", None, False, 1),
            ("failed", "DependencyFailed", False, 1000),
        }
        last = (await session.execute(select(jobs.c.message).where(jobs.c.name == "job-1000"))).scalar_one()
        assert last.startswith("The job job-999 (")
    assert await team.used() == await team.recounted() == {}


async def _make_chain(sessions: Sessions, first: UUID, length: int) -> None:
    """`length` jobs, each behind the one before, as submissions would write them."""
    columns = ", ".join(column.name for column in jobs.columns if column.name not in {"id", "name", "k8s_name"})
    asked = columns.replace("open_parents", "1")
    ids = "('00000000-0000-7000-8000-' || lpad(to_hex({}), 12, '0'))::uuid"
    link = f"SELECT {ids.format('n')}, 0, CASE n WHEN 1 THEN '{first}'::uuid ELSE {ids.format('n - 1')} END"
    async with sessions.begin() as session:
        await session.execute(
            text(
                f"INSERT INTO jobs (id, name, k8s_name, {columns}) SELECT {ids.format('n')}, 'job-' || n, 'job-' || n,"
                f" {asked} FROM jobs, generate_series(1, {length}) AS n"
            )
        )
        await session.execute(
            text(
                "INSERT INTO job_dependencies (job_id, place, parent_id, condition, otherwise)"
                f" {link}, 'succeeded', 'fail' FROM generate_series(1, {length}) AS n"
            )
        )
        await session.execute(text(f"UPDATE team_usage SET used = used + {length} WHERE resource = 'count/jobs'"))


async def test_many_jobs_may_wait_for_one(team: Any, sessions: Sessions, settler: Settler) -> None:
    parent = (await team.submit("job-0", gpus=0)).row["id"]
    await _make_chain(sessions, parent, 350)
    async with sessions.begin() as session:
        await session.execute(update(job_dependencies).values(parent_id=parent))
    await end(sessions, parent, JobState.SUCCEEDED)
    await settle(settler)
    async with sessions() as session:
        reasons = (await session.execute(select(jobs.c.reason).where(jobs.c.ended_at.is_(None)))).scalars()
        assert Counter(reasons) == {"WaitingForRelease": 350}


async def test_a_cancelled_job_waits_no_more_and_its_own_children_are_told(
    team: Any, sessions: Sessions, settler: Settler
) -> None:
    parent = (await team.submit("parent")).row["id"]
    child = await child_of(team, parent)
    grandchild = await child_of(team, child, name="grandchild")
    cancelled = await cancellation.cancel(sessions, child, "nlp", None)
    assert cancelled["state"] == "cancelled"
    await settle(settler)
    found = await row(sessions, grandchild)
    assert (found.state, found.message) == (
        "failed",
        f"The job child ({child}) ended as cancelled; this one was to run only after its success.",
    )
    await end(sessions, parent, JobState.SUCCEEDED)
    await settle(settler)
    assert (await row(sessions, child)).reason == "CancelledByUser"
    assert not (await row(sessions, parent)).dependents_due


async def test_a_suspended_job_keeps_its_state_until_a_parent_fails(
    team: Any, sessions: Sessions, settler: Settler
) -> None:
    parents = [(await team.submit(f"parent-{number}")).row["id"] for number in range(2)]
    child = await child_of(team, *parents)
    async with sessions.begin() as session:
        await move(session, child, JobState.SUSPENDED, at=now(), reason="OnHold")
    await end(sessions, parents[0], JobState.SUCCEEDED)
    await settle(settler)
    found = await row(sessions, child)
    assert (found.state, found.reason, found.open_parents) == ("suspended", "OnHold", 1)
    await end(sessions, parents[1], JobState.FAILED)
    await settle(settler)
    assert (await row(sessions, child)).state == "failed"


async def test_a_job_that_somebody_holds_is_told_later(team: Any, sessions: Sessions, settler: Settler) -> None:
    parent = (await team.submit("parent")).row["id"]
    held, other = await child_of(team, parent, name="held"), await child_of(team, parent, name="other")
    await end(sessions, parent, JobState.SUCCEEDED)
    async with sessions.begin() as session:
        await session.execute(select(jobs.c.id).where(jobs.c.id == held).with_for_update())
        await settle(settler)
        assert (await row(sessions, other)).reason == "WaitingForRelease"
        assert (await row(sessions, held)).reason == "WaitingForDependencies"
        assert (await row(sessions, parent)).dependents_due
    await settle(settler)
    assert (await row(sessions, held)).reason == "WaitingForRelease"


async def test_over_quota_a_job_is_charged_only_when_it_waits_for_no_other(
    team: Any, sessions: Sessions, settler: Settler
) -> None:
    async with sessions.begin() as session:
        await session.execute(text("UPDATE team_quotas SET on_over_quota = 'hold'"))
    parent = (await team.submit("parent", gpus=8)).row["id"]
    child = await child_of(team, parent)
    before = await row(sessions, child)
    assert (before.reason, before.charged) == ("WaitingForDependencies", False)
    await end(sessions, parent, JobState.SUCCEEDED)
    await settle(settler)
    after = await row(sessions, child)
    assert (after.reason, after.charged) == ("QuotaExceeded", False)
    assert "room in its team's quota" in after.message


async def test_a_crash_before_the_commit_is_made_up_for(
    team: Any, sessions: Sessions, settler: Settler, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = (await team.submit("parent")).row["id"]
    child = await child_of(team, parent)
    grandchild = await child_of(team, child, name="grandchild")
    await end(sessions, parent, JobState.FAILED)

    async def crash(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(settlements, "clear_due", crash)
        with pytest.raises(Crash):
            await settler.settle_all()
    assert [(await row(sessions, job_id)).state for job_id in (child, grandchild)] == ["held", "held"]
    await settle(settler)
    assert [(await row(sessions, job_id)).state for job_id in (child, grandchild)] == ["failed", "failed"]
    assert await team.used() == await team.recounted() == {}


async def test_an_end_without_a_mark_is_found_by_the_sweep(team: Any, sessions: Sessions, settler: Settler) -> None:
    parent = (await team.submit("parent")).row["id"]
    child = await child_of(team, parent)
    await end(sessions, parent, JobState.SUCCEEDED)
    async with sessions.begin() as session:
        await session.execute(update(jobs).values(dependents_due=False))
    task = asyncio.create_task(settler.run())
    try:
        async with asyncio.timeout(20):
            while (await row(sessions, child)).open_parents:  # noqa: ASYNC110 - Postgres sets no event
                await asyncio.sleep(0.02)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_the_queue_timeout_begins_when_it_waits_for_no_other(
    team: Any, sessions: Sessions, settler: Settler
) -> None:
    parent = (await team.submit("parent")).row["id"]
    job = await team.submit("child", after=[{"job": str(parent)}], queue_timeout_seconds=60)
    assert (await row(sessions, job.row["id"])).queue_deadline_at is None
    await end(sessions, parent, JobState.SUCCEEDED)
    await settle(settler)
    found = await row(sessions, job.row["id"])
    assert (found.queue_deadline_at - found.waiting_since).total_seconds() == 60
