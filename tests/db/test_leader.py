import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, select, text, update

from app.controller import leader
from app.controller.leader import LeadershipLost, Lease, leases
from app.db import Sessions


async def _row(sessions: Sessions) -> Any:
    async with sessions() as session:
        return (await session.execute(select(leases))).one()


async def _expire(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        await session.execute(update(leases).values(expires_at=func.now()))


async def _lead(sessions: Sessions, seconds: float = 60.0) -> Lease:
    lease = await leader.acquire(sessions, uuid4(), seconds)
    assert lease is not None
    return lease


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.01)


async def _renewed_since(sessions: Sessions, expires_at: datetime) -> bool:
    row = await _row(sessions)
    return row.expires_at > expires_at and bool(row.status)


async def test_exactly_one_of_many_contenders_leads(sessions: Sessions) -> None:
    leads = await asyncio.gather(*(leader.acquire(sessions, uuid4(), 60) for _ in range(12)))
    won = [lease for lease in leads if lease is not None]
    assert len(won) == 1
    assert (await _row(sessions)).holder == won[0].holder


async def test_a_lease_that_ran_out_is_taken_over_by_one_with_the_next_epoch(sessions: Sessions) -> None:
    first = await _lead(sessions)
    assert await leader.acquire(sessions, uuid4(), 60) is None
    await _expire(sessions)
    won = [lease for lease in await asyncio.gather(*(leader.acquire(sessions, uuid4(), 60) for _ in range(8))) if lease]
    assert [lease.epoch for lease in won] == [first.epoch + 1]


async def test_a_write_of_the_old_epoch_is_refused(sessions: Sessions) -> None:
    old = await _lead(sessions)
    async with leader.fenced(sessions, old):
        pass
    await _expire(sessions)
    await _lead(sessions)
    with pytest.raises(LeadershipLost):
        async with leader.fenced(sessions, old):
            pytest.fail("the old leader wrote")


async def test_a_renewal_passes_an_open_write_and_a_takeover_waits_for_it(sessions: Sessions) -> None:
    lease = await _lead(sessions)
    async with leader.fenced(sessions, lease):
        async with asyncio.timeout(10):
            lease = await leader.renew(sessions, lease, 0.0)
        takeover = asyncio.create_task(leader.acquire(sessions, uuid4(), 60))
        await _until(lambda: _waits_for_a_lock(sessions))
        assert not takeover.done()
    taken = await takeover
    assert taken is not None
    assert taken.epoch == lease.epoch + 1


async def _waits_for_a_lock(sessions: Sessions) -> bool:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with sessions() as session:
        return bool((await session.execute(text(waiting))).scalar_one())


async def test_a_released_lease_is_free_at_once(sessions: Sessions) -> None:
    lease = await _lead(sessions)
    await leader.release(sessions, lease)
    assert (await _lead(sessions)).epoch == lease.epoch + 1


async def test_an_old_leader_cannot_renew_or_release(sessions: Sessions) -> None:
    old = await _lead(sessions)
    await _expire(sessions)
    new = await _lead(sessions)
    with pytest.raises(LeadershipLost):
        await leader.renew(sessions, old, 60)
    await leader.release(sessions, old)
    async with leader.fenced(sessions, new):
        pass


async def test_keeping_renews_and_writes_what_the_leader_sees(sessions: Sessions) -> None:
    lease = await _lead(sessions, 0.3)
    keeper = asyncio.create_task(leader.keep(sessions, lease, 0.3, lambda: {"cluster": "reachable"}))
    first = (await _row(sessions)).expires_at
    await _until(lambda: _renewed_since(sessions, first))
    assert (await _row(sessions)).status == {"cluster": "reachable"}
    await _expire(sessions)
    await _lead(sessions)
    with pytest.raises(LeadershipLost):
        await asyncio.wait_for(keeper, 10)


async def test_a_leader_that_cannot_reach_postgres_steps_down_before_the_lease_ends(sessions: Sessions) -> None:
    class Away:
        def begin(self) -> Any:
            raise ConnectionError

    lease = await _lead(sessions, 0.3)
    with pytest.raises(LeadershipLost):
        await asyncio.wait_for(leader.keep(Away(), lease, 0.3, dict), 10)
