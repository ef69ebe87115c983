"""Many who follow the feed of one process, beside writers that commit in any order. Every commit is a real one."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from app.db import Sessions, reading
from app.errors import Unavailable
from app.jobs import live
from app.jobs.feed import BEGINNING, Position
from app.jobs.horizon import Horizon
from app.jobs.kept_events import Wanted
from app.jobs.live import LiveFeed
from tests.db.jobs.writers import Writer

EVERYTHING = Wanted()
ACCEPTED = frozenset({"accepted"})


@pytest.fixture
async def feeds(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[LiveFeed]]:
    """The feeds of two processes that keep hardly anything, so that followers are often behind what is kept."""
    monkeypatch.setattr(live, "KEPT_EVENTS", 7)
    monkeypatch.setattr(live, "_AT_ONCE", 3)
    feeds = [LiveFeed(sessions, poll_seconds=0.005, encode=lambda row: str(row["id"]).encode()) for _ in range(2)]
    yield feeds
    for feed in feeds:
        feed.close()


class Follower:
    """Somebody who follows, goes away at any moment, and comes back to any process behind what it dealt with."""

    def __init__(self, wanted: Wanted, position: Position) -> None:
        self.wanted = wanted
        self.position = position
        self.ids: list[int] = []

    async def follow(self, feed: LiveFeed, parts: int) -> None:
        """Take so many parts, or what there is until the process ends."""
        with contextlib.suppress(Unavailable):
            await feed.ready()
            assert await feed.gave_out(self.position)
        with feed.following():
            for _ in range(parts):
                part = await feed.next(self.wanted, self.position, seconds=0.05)
                if part is None:
                    return
                self.ids += [int(entry.encoded) for entry in part.entries]
                assert part.position >= self.position
                self.position = part.position

    async def until(self, feed: LiveFeed, last: Position) -> None:
        async with asyncio.timeout(30):
            while self.position < last:
                await self.follow(feed, 1)


async def test_everybody_is_told_each_event_once_whenever_and_wherever_they_follow(
    writers: list[Writer], feeds: list[LiveFeed], sessions: Sessions
) -> None:
    chance = random.Random(7)
    wanted = [EVERYTHING, Wanted(team="nlp"), Wanted(job_id=writers[0]._job_id, types=ACCEPTED), Wanted(team="none")]
    followers = [Follower(each, BEGINNING) for each in wanted * 3]
    done = asyncio.Event()

    async def come_and_go(follower: Follower) -> None:
        while not done.is_set():
            await follower.follow(chance.choice(feeds), chance.randint(1, 5))
            if chance.random() < 0.2:  # a process ends, and another one takes its place
                feeds.append(LiveFeed(sessions, poll_seconds=0.005, encode=feeds[0]._encode))
                feeds.pop(0).close()

    going = [asyncio.create_task(come_and_go(follower)) for follower in followers]
    await asyncio.gather(*(writer.keep_writing(40, number * 11) for number, writer in enumerate(writers)))
    done.set()
    await asyncio.gather(*going)
    async with reading(sessions) as session:
        rows = (await session.execute(text("SELECT id, type FROM job_events ORDER BY id"))).all()
    everything = [row.id for row in rows]
    assert len(everything) > 100
    for follower in followers:
        await follower.until(feeds[-1], everything[-1])
    accepted = [row.id for row in rows if row.type == "accepted"]
    for follower, expected in zip(followers, [everything, everything, accepted, []] * 3, strict=True):
        assert follower.ids == expected


async def test_who_comes_from_a_process_that_is_ahead_is_told_nothing_twice(
    writers: list[Writer], feeds: list[LiveFeed], monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead, behind = feeds
    monkeypatch.setattr(behind, "_poll", asyncio.Event().wait)
    await behind.ready()
    await writers[0].do("copy")
    await writers[0].do("copy")
    await writers[0].do("commit")
    first = sorted(writers[0].committed)
    follower = Follower(EVERYTHING, BEGINNING)
    await follower.until(ahead, first[-1])
    follower.position, follower.ids = first[1], []  # it dealt with these, and then lost its connection
    assert behind.position < first[0]
    assert await behind.gave_out(follower.position)
    await behind._read_new()
    await follower.follow(behind, 3)
    assert follower.ids == first[2:]


async def test_a_feed_that_begins_beside_a_writer_begins_behind_what_was_there(
    writers: list[Writer], sessions: Sessions, feeds: list[LiveFeed]
) -> None:
    """And not at the very first event, only because a new process does not yet know where it is."""
    await writers[0].do("copy")
    await writers[0].do("commit")
    await writers[1].do("write")
    beginning = asyncio.create_task(feeds[0].ready())
    await asyncio.sleep(0)
    await writers[1].do("commit")
    await beginning
    assert feeds[0].position >= max(writers[0].committed)


async def test_a_writer_that_hangs_keeps_a_new_process_from_streaming_and_is_measured(
    writers: list[Writer], feeds: list[LiveFeed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_START_SECONDS", 0.0)
    await writers[0].do("write")
    with pytest.raises(Unavailable):
        await feeds[0].ready()
    assert feeds[0].horizon.waiting_seconds > 0
    await writers[0].do("commit")
    await feeds[0].ready()


async def test_following_ends_when_postgres_lost_what_was_delivered(
    writers: list[Writer], feeds: list[LiveFeed], sessions: Sessions
) -> None:
    await writers[0].do("copy")
    await writers[0].do("commit")
    follower = Follower(EVERYTHING, BEGINNING)
    await follower.until(feeds[0], max(writers[0].committed))
    async with sessions.begin() as session:  # as after a failover to a standby that was behind
        await session.execute(text("DELETE FROM job_events WHERE id > 2"))
        await session.execute(text("SELECT setval('job_events_id_seq', 2)"))
    with feeds[0].following():
        async with asyncio.timeout(30):
            while (part := await feeds[0].next(EVERYTHING, follower.position, seconds=0.05)) is not None:
                assert part.entries == ()
    again = Follower(EVERYTHING, BEGINNING)
    await again.until(feeds[0], 2)
    assert again.ids == [1, 2]


async def test_no_follower_no_poller(feeds: list[LiveFeed], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_IDLE_SECONDS", 0.0)
    await feeds[0].ready()
    polling = feeds[0]._poller
    assert polling is not None
    await asyncio.wait_for(polling, 10)


async def test_there_is_a_limit_of_followers(feeds: list[LiveFeed], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_FOLLOWERS", 1)
    await feeds[0].ready()
    with feeds[0].following(), pytest.raises(Unavailable, match="1 streams are open"):
        await feeds[0].ready()
    await feeds[0].ready()


def test_a_horizon_knows_a_prepared_transaction_under_no_name() -> None:
    """PREPARE TRANSACTION gives a writer another name; it must not be taken for one that has ended."""
    horizon = Horizon()
    assert horizon.saw(5, frozenset()) == 5
    assert horizon.saw(9, frozenset({"3/1", "4/1"})) == 5
    assert horizon.saw(9, frozenset({"-1/77", "4/1"})) == 5
    assert horizon.saw(9, frozenset({"-1/77"})) == 5
    assert horizon.saw(12, frozenset({"5/1"})) == 9
    assert horizon.saw(12, frozenset()) == 12
