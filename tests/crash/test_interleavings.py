"""Orders of events that are rare and possible: late create calls, strange rows, news that come in another order."""

from typing import Any

from sqlalchemy import text


async def test_a_row_that_cannot_be_read_stops_nobody_else(world: Any) -> None:
    await world.make_team()
    task = world.start()
    strange = await world.submit("strange", command="sleep 10000")
    await world.until_state(strange, "running")
    async with world.sessions.begin() as session:
        await session.execute(text("UPDATE jobs SET spec = '{}'"))
    for name in ("first", "second"):
        await world.until_state(await world.submit(name), "succeeded")
    assert not task.done()
    assert (await world.row(strange)).state == "running"
