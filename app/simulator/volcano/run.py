"""Starts Volcano's controllers and its scheduler on one API server."""

import asyncio

from app.simulator.clock import Clock
from app.simulator.objects import Objects
from app.simulator.volcano.bootstrap import create_first_queues
from app.simulator.volcano.job_controller import JobController
from app.simulator.volcano.queue_controller import QueueController
from app.simulator.volcano.scheduler_loop import run_scheduler
from app.simulator.volcano.settings import VolcanoSettings

__all__ = ["VolcanoSettings", "run_volcano"]


async def run_volcano(objects: Objects, clock: Clock, settings: VolcanoSettings) -> None:
    """Run Volcano until cancelled.

    Args:
        objects: the API server.
        clock: gives stamps, and shortens every wait.
        settings: see `VolcanoSettings`.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(create_first_queues(objects, clock))
        group.create_task(QueueController(objects, clock).run())
        group.create_task(JobController(objects, clock, settings).run())
        group.create_task(run_scheduler(objects, clock, settings))
