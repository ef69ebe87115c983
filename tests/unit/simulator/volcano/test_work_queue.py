import asyncio

from app.simulator.volcano.work_queue import WorkQueue


async def test_equal_items_wait_once_and_come_again_after_the_work() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(3):
        queue.add("a")
    item = await queue.get()
    queue.add("a")
    queue.add("b")
    assert await queue.get() == "b"
    async with asyncio.timeout(5):
        waiting = asyncio.create_task(queue.get())
        queue.done(item)
        assert await waiting == "a"


def test_delays_double_until_the_item_is_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue()
    assert [queue.failed("a") for _ in range(3)] == [0.005, 0.01, 0.02]
    assert queue.failures("a") == 3
    queue.forget("a")
    assert queue.failed("a") == 0.005
    assert sum(WorkQueue[str]().failed("b") for _ in range(1)) == 0.005
