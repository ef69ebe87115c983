"""The Queues that the scheduler creates at its start (volcano-facts 4.3)."""

import structlog

from app.simulator.clock import Clock
from app.simulator.kinds import QUEUE
from app.simulator.objects import ApiError, Object, Objects

RETRY_SECONDS = 1.0

log = structlog.get_logger(__name__)


def _queue(name: str, *, reclaimable: bool) -> Object:
    return {
        "apiVersion": QUEUE.api_version,
        "kind": QUEUE.name,
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": reclaimable},
    }


FIRST_QUEUES = (_queue("root", reclaimable=False), _queue("default", reclaimable=True))


async def create_first_queues(objects: Objects, clock: Clock) -> None:
    """Create `root` and `default` where they are missing; try again until that works."""
    for queue in FIRST_QUEUES:
        while not await _created(objects, queue):
            await clock.sleep(RETRY_SECONDS)


async def _created(objects: Objects, queue: Object) -> bool:
    try:
        await objects.create(QUEUE, queue)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            log.warning("A first Queue could not be created.", queue=queue["metadata"]["name"], code=error.code)
            return False
    return True
