"""Writes the scheduler's events beside its sessions, so that no session waits for them."""

import asyncio

import structlog

from app.simulator.clock import Clock
from app.simulator.objects import Objects
from app.simulator.volcano.events import EventRecorder
from app.simulator.volcano.scheduler.facts import SCHEDULER_NAME
from app.simulator.volcano.scheduler.results import Event

_WAITING_EVENTS = 10_000

log = structlog.get_logger(__name__)


class EventWriter:
    """A queue of events; what does not fit is dropped, as client-go drops it."""

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._recorder = EventRecorder(objects, clock, SCHEDULER_NAME)
        self._waiting: asyncio.Queue[Event] = asyncio.Queue(_WAITING_EVENTS)

    def add(self, event: Event) -> None:
        """Have an event written soon."""
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            log.warning("An event was dropped; too many wait.", waiting=_WAITING_EVENTS, reason=event.reason)

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            event = await self._waiting.get()
            await self._recorder.record(event.about, event.type, event.reason, event.message)
