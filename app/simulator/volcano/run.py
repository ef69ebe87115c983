"""Starts Volcano's controllers and its scheduler on one API server."""

import asyncio

from app.simulator.clock import Clock
from app.simulator.objects import Objects
from app.simulator.volcano.settings import VolcanoSettings

__all__ = ["VolcanoSettings", "run_volcano"]


async def run_volcano(objects: Objects, clock: Clock, settings: VolcanoSettings) -> None:
    """Run Volcano until cancelled."""
    await asyncio.Event().wait()
