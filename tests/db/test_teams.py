import asyncio

from sqlalchemy import text

from app.db import Sessions
from app.teams import store

SEED = """
    INSERT INTO queues (name, weight, capability, deserved, guarantee, reclaimable, generation, created_at, updated_at)
    VALUES ('q', 1, '{}', '{}', '{}', true, 1, now(), now());
    INSERT INTO teams (name, namespace, default_queue, created_at, updated_at) VALUES ('nlp', 'nlp', 'q', now(), now());
    INSERT INTO team_queues (team, queue) VALUES ('nlp', 'q')
"""


async def seed(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        for statement in SEED.split(";"):
            await session.execute(text(statement))


async def test_who_waits_for_a_team_sees_what_the_one_before_has_left(sessions: Sessions) -> None:
    await seed(sessions)
    waiting = asyncio.Event()
    found = []

    async def second() -> None:
        async with sessions.begin() as session:
            await store.find_team(session, "nlp")
            waiting.set()
            await store.lock_team(session, "nlp")
            found.append(await store.find_usage(session, "nlp"))

    async with sessions.begin() as session:
        assert await store.lock_team(session, "nlp") is not None
        task = asyncio.create_task(second())
        await asyncio.wait_for(waiting.wait(), timeout=10)
        await session.execute(
            text("INSERT INTO team_usage VALUES ('nlp', 'nvidia.com/gpu', 4), ('nlp', 'amd.com/gpu', 0)")
        )
        assert found == []
    await asyncio.wait_for(task, timeout=10)
    assert found == [{"nvidia.com/gpu": 4}]


async def test_a_locked_team_can_still_be_referred_to(sessions: Sessions) -> None:
    """Tokens and jobs refer to their team; their inserts must not wait for a submission of the same team."""
    await seed(sessions)
    async with sessions.begin() as first, sessions.begin() as second:
        await store.lock_team(first, "nlp")
        await second.execute(text("SET LOCAL lock_timeout = '1s'"))
        await second.execute(text("INSERT INTO team_usage VALUES ('nlp', 'nvidia.com/gpu', 1)"))


async def test_queues_that_do_not_exist_are_found_out(sessions: Sessions) -> None:
    await seed(sessions)
    async with sessions.begin() as session:
        assert await store.missing_queues(session, ["q", "r", "s", "r"]) == {"r", "s"}
        assert await store.missing_queues(session, []) == set()


async def test_a_team_that_is_not_there_is_none(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        assert await store.find_team(session, "nlp") is None
        assert await store.lock_team(session, "nlp") is None
        assert await store.find_quota(session, "nlp") is None
        assert await store.find_usage(session, "nlp") == {}
