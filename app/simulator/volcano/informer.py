"""A list of objects that a watch keeps up to date."""

import asyncio
from collections.abc import Callable
from typing import Literal

import structlog

from app.simulator.clock import Clock
from app.simulator.kinds import Kind
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.volcano.departed import Departed
from app.simulator.volcano.names import key_of

Change = Literal["ADDED", "MODIFIED", "DELETED"]
Handler = Callable[[Change, Object | None, Object], None]
"""Called with the kind of change, the object as last seen and the object now."""

RECONNECT_SECONDS = 1.0

log = structlog.get_logger(__name__)


def version_of(obj: Object) -> int:
    """The resourceVersion as a number; 0 if there is none."""
    return int(obj["metadata"].get("resourceVersion") or 0)


class Informer:
    """Objects of one kind by `namespace/name`, as the watch last showed them."""

    def __init__(self, objects: Objects, kind: Kind, clock: Clock, handler: Handler | None = None) -> None:
        self._objects = objects
        self._kind = kind
        self._clock = clock
        self._handler = handler
        self._departed = Departed()
        self.items: dict[str, Object] = {}

    def named(self, name: str) -> Object | None:
        """An object of a kind without namespaces."""
        return self.items.get(f"/{name}")

    def put(self, obj: Object) -> None:
        """Take over an object that was just written, before the watch shows it."""
        if obj in self._departed:
            return
        known = self.items.get(key_of(obj))
        if known is None or version_of(known) <= version_of(obj):
            self.items[key_of(obj)] = obj

    async def fill(self) -> None:
        """List once, so that nothing acts on an empty list; no handler is called."""
        for obj in await self._objects.list(self._kind):
            self.put(obj)

    async def fill_patiently(self) -> None:
        """List once; try until the API server answers."""
        while True:
            try:
                await self.fill()
            except ApiError as error:
                log.warning("Objects cannot be listed yet.", kind=self._kind.name, code=error.code)
                await self._clock.sleep(RECONNECT_SECONDS)
            else:
                return

    async def run(self) -> None:
        """Follow the watch until cancelled."""
        while True:
            try:
                async for event in self._objects.watch(self._kind):
                    self._apply(event.type, event.object)
            except ApiError as error:
                log.warning("A watch ended and starts again.", kind=self._kind.name, code=error.code)
            await self._clock.sleep(RECONNECT_SECONDS)

    def _apply(self, change: Change, obj: Object) -> None:
        key = key_of(obj)
        old = self.items.get(key)
        if change == "DELETED":
            self._departed.add(obj)
            if old is None or old["metadata"].get("uid") == obj["metadata"].get("uid"):
                self.items.pop(key, None)
        else:
            self.put(obj)
        if self._handler is None:
            return
        try:
            self._handler(change, old, obj)
        except (KeyError, TypeError, ValueError, AttributeError):
            log.exception("An object could not be read.", kind=self._kind.name, key=key)


def spawn(tasks: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
    """Keep a background task until it ends; an error in it is logged."""
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    task.add_done_callback(_report)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("A step in the background failed.", exc_info=task.exception())


async def cancel(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel background tasks and wait for their end."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
