"""Readers of the feed beside writers that commit in another order than they write. Every commit is a real one."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app import db
from app.db import Sessions, now
from app.errors import Unavailable
from app.jobs.feed import BEGINNING, MOST_SCANNED, read_after
from app.jobs.horizon import Horizon
from app.jobs.states import JobState
from app.jobs.store import Row
from app.jobs.transitions import record_event
from app.settings import Settings
from tests.db.jobs.writers import WRITERS, Writer


class Reader:
    """Somebody who follows the feed and remembers a position, and who may begin anew with another horizon."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.horizon = Horizon()
        self.position = BEGINNING
        self.seen: list[int] = []

    async def read(self, limit: int = 2, **filters: Any) -> list[Row]:
        found: list[Row] = []
        async with self._sessions() as session:
            until = await self.horizon.look(session)
            while self.position < until:
                rows, self.position = await read_after(session, self.position, until=until, limit=limit, **filters)
                found += rows
        self.seen += [row["id"] for row in found]
        return found


ACTIONS = st.sampled_from(["write", "copy", "take_back", "commit", "commit", "abort", "restart"])


@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.integers(0, WRITERS - 1), ACTIONS), max_size=30),
    limit=st.integers(1, 4),
)
async def test_each_event_is_read_once_and_in_order_whatever_the_order_of_the_commits(
    writers: list[Writer], sessions: Sessions, steps: list[tuple[int, str]], limit: int
) -> None:
    reader = Reader(sessions)
    await reader.read()
    began = reader.position
    reader.seen, before = [], {id for writer in writers for id in writer.committed}  # noqa: A001
    for number, action in steps:
        if action == "restart":
            reader.horizon = Horizon()  # another process goes on from the same position
        else:
            await writers[number].do(action)
        await reader.read(limit)
        assert set(reader.seen) <= {id for writer in writers for id in writer.committed}  # noqa: A001
    for writer in writers:
        if writer.is_open:
            await writer.do("commit")
    await reader.read(limit)
    committed = {id for writer in writers for id in writer.committed} - before  # noqa: A001
    assert reader.seen == sorted(committed)
    assert reader.position >= began


async def test_a_reader_waits_for_a_smaller_id_and_not_for_what_began_later(
    writers: list[Writer], sessions: Sessions
) -> None:
    early, late, still = writers
    reader = Reader(sessions)
    await reader.read()
    reader.seen = []
    await early.do("write")
    await late.do("write")
    await late.do("commit")
    assert await reader.read() == []  # the largest id can be seen, and a smaller one is yet to come
    await still.do("write")
    await early.do("commit")
    await reader.read()
    assert reader.seen == sorted(early.committed | late.committed)
    await still.do("commit")
    await reader.read()
    assert reader.seen == sorted(early.committed | late.committed | still.committed)


async def test_an_open_transaction_that_writes_no_events_holds_nothing_up(
    writers: list[Writer], sessions: Sessions
) -> None:
    reader = Reader(sessions)
    async with sessions.begin() as other:
        await other.execute(text("UPDATE teams SET updated_at = now()"))
        await other.execute(text("SELECT count(*) FROM job_events"))
        await writers[0].do("write")
        await writers[0].do("commit")
        await reader.read()
    assert writers[0].committed < set(reader.seen)


async def test_a_process_that_froze_in_a_transaction_does_not_hold_the_feed_up_for_ever(
    writers: list[Writer], sessions: Sessions, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "IDLE_TRANSACTION_MS", 200)
    engine = db.create_engine(settings)
    async with db.create_sessions(engine)() as frozen:
        await record_event(frozen, writers[0]._job_id, "nlp", "reason", JobState.HELD, at=now())
        await writers[0].do("write")
        await writers[0].do("commit")
        assert await Horizon().reach(sessions, seconds=60) >= max(writers[0].committed)
        with pytest.raises(DBAPIError) as error:
            await frozen.commit()
        assert db.is_away(error.value)
    await engine.dispose()


async def test_writers_and_readers_at_the_same_time(writers: list[Writer], sessions: Sessions) -> None:
    """Nobody waits for anybody here: what the interleavings above leave out."""
    done = asyncio.Event()
    readers = [Reader(sessions), Reader(sessions)]

    async def follow(reader: Reader) -> None:
        while not done.is_set():
            await reader.read(limit=50)
        await reader.read(limit=50)

    following = [asyncio.create_task(follow(reader)) for reader in readers]
    await asyncio.gather(*(writer.keep_writing(60, number * 11) for number, writer in enumerate(writers)))
    done.set()
    await asyncio.gather(*following)
    committed = sorted({id for writer in writers for id in writer.committed})  # noqa: A001
    for reader in readers:
        assert reader.seen[1:] == committed  # the first one is that of the job itself
        assert reader.horizon.waiting_seconds == 0


async def test_reaching_waits_for_those_who_write_now(writers: list[Writer], sessions: Sessions) -> None:
    horizon = Horizon()
    await writers[0].do("write")
    (mine,) = writers[0].written
    with pytest.raises(Unavailable):  # a new process knows nothing yet, and an empty answer would be wrong
        await horizon.reach(sessions, seconds=0)
    reached, _ = await asyncio.gather(horizon.reach(sessions, seconds=60), writers[0].do("commit"))
    assert reached >= mine
    await writers[1].do("write")
    assert await horizon.reach(sessions, seconds=0) == reached


async def test_filters_keep_the_position_moving(writers: list[Writer], sessions: Sessions) -> None:
    await writers[0].do("write")
    await writers[0].do("copy")
    await writers[0].write(team="vision")
    await writers[0].do("commit")
    for filters, count in (
        ({}, 6),
        ({"team": "nlp"}, 5),
        ({"team": "vision"}, 1),
        ({"team": "nobody"}, 0),
        ({"types": ["accepted"]}, 4),
        ({"types": ["cancel"]}, 0),
        ({"states": [JobState.HELD], "types": ["state"], "team": "nlp"}, 1),
        ({"states": [JobState.RUNNING]}, 0),
        ({"job_id": writers[0]._job_id}, 6),
    ):
        reader = Reader(sessions)
        assert len(await reader.read(**filters)) == count, filters
        assert reader.position == max(writers[0].committed)


async def test_a_read_of_a_rare_type_looks_at_a_bounded_number_of_events(team: Any, sessions: Sessions) -> None:
    job_id = (await team.submit("a")).row["id"]
    fill = text(
        "INSERT INTO job_events (job_id, team, at, type, state) SELECT :job_id, 'nlp', now(),"
        " CASE WHEN n = :rows THEN 'cancel' ELSE 'state' END, 'held' FROM generate_series(1, :rows) AS n"
    )
    async with sessions.begin() as session:
        await session.execute(fill, {"job_id": job_id, "rows": MOST_SCANNED + 10})
    async with sessions() as session:
        until = await Horizon().look(session)
        rows, position = await read_after(session, BEGINNING, until=until, limit=10, types=["cancel"])
        assert rows == []
        assert 0 < position < until
        rows, position = await read_after(session, position, until=until, limit=10, types=["cancel"])
    assert [row["type"] for row in rows] == ["cancel"]
    assert position == until
