"""Runs Volcano's scheduler on an API server: a session every period."""

import asyncio
import random

import structlog

from app.simulator.clock import Clock
from app.simulator.objects import Objects
from app.simulator.volcano.scheduler.cache import SchedulerCache
from app.simulator.volcano.scheduler.configuration_file import ConfigurationFile
from app.simulator.volcano.scheduler.effects import Effects
from app.simulator.volcano.scheduler.events import EventWriter
from app.simulator.volcano.scheduler.policy import Policy
from app.simulator.volcano.scheduler.session import run_session
from app.simulator.volcano.settings import VolcanoSettings

log = structlog.get_logger(__name__)


async def run_scheduler(objects: Objects, clock: Clock, settings: VolcanoSettings) -> None:
    """Run the scheduler until cancelled.

    One deliberate difference from Volcano: while nothing changes and the last session wrote nothing, no session is run,
    so the counts of the events of waiting PodGroups do not grow. Pods without a PodGroup ("bare" pods, of Deployments
    for instance) are not scheduled, as Volcano's pg-controller is not built.

    Args:
        objects: the API server.
        clock: gives stamps, and shortens the period.
        settings: the period, the seed of the choice among equal nodes, and the configuration file.

    Raises:
        ConfigurationError: the configuration file is wrong when the scheduler starts; later that is only logged.
    """
    configuration = ConfigurationFile(settings.scheduler_config)
    cache = SchedulerCache(objects, clock)
    events = EventWriter(objects, clock)
    filled = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(cache.run(filled))
        group.create_task(events.run())
        await filled.wait()
        await _tick(cache, Effects(objects, clock, cache, events), configuration, clock, settings)


async def _tick(
    cache: SchedulerCache, effects: Effects, configuration: ConfigurationFile, clock: Clock, settings: VolcanoSettings
) -> None:
    rng = random.Random(settings.seed)
    seen = -1
    while True:
        version = cache.version
        if configuration.changed() or version != seen:
            seen = -1 if await _session(cache, effects, rng, clock, configuration.policy) else version
        await clock.sleep(settings.schedule_period_seconds)


async def _session(cache: SchedulerCache, effects: Effects, rng: random.Random, clock: Clock, policy: Policy) -> bool:
    """Run one session; True when another one is due even if nothing else changes."""
    try:
        return await effects.apply(run_session(cache.snapshot(), rng, clock.stamp(), policy))
    except (KeyError, TypeError, ValueError, AttributeError):
        log.exception("A scheduling session failed; the next one starts afresh.")
        return True
