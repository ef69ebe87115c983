"""Queues while the API server refuses or is busy."""

from typing import Any

from sqlalchemy import text

from app.cluster.kinds import QUEUE
from app.queues import service as queue_service
from app.queues.schemas import QueueCreate
from app.simulator.faults import Fault


async def test_a_queue_that_volcano_refuses_has_its_words_as_its_problem(world: Any) -> None:
    fault = Fault(effect="answer", method="POST", plural="queues", status=400, reason="BadRequest", message="not so")
    world.cluster.faults.add(fault)
    await world.make_team()
    world.start()

    async def problem() -> Any:
        async with world.sessions() as session:
            return (await session.execute(text("SELECT problem FROM queues"))).scalar_one()

    assert await world.until(problem) == "not so"
    assert await world.until(lambda: _is_open(world))
    await world.until(lambda: _is(problem, None))


async def _is(read: Any, wanted: Any) -> bool:
    return await read() == wanted


async def _is_open(world: Any) -> bool:
    names = [queue["metadata"]["name"] for queue in (await world.volcano.list_page(QUEUE)).items]
    return "q-nlp" in names and (await world.volcano.get_queue("q-nlp")).get("status", {}).get("state") == "Open"


async def test_a_busy_server_is_asked_about_one_queue_at_a_time_and_after_its_own_time(world: Any) -> None:
    names = [f"q-{index}" for index in range(4)]
    for _ in range(2):
        fault = Fault(effect="answer", method="POST", plural="queues", status=429, reason="Busy", retry_after_seconds=1)
        world.cluster.faults.add(fault)
    async with world.sessions.begin() as session:
        for name in names:
            await queue_service.create_queue(session, QueueCreate(name=name))
    world.start()

    async def made() -> set[str]:
        return {queue["metadata"]["name"] for queue in (await world.volcano.list_page(QUEUE)).items} & set(names)

    # whoever goes on with the next queue after a refusal makes another one first
    assert names[0] in await world.until(made)
    await world.until(lambda: _is(made, set(names)))
