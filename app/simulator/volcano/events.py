"""Events as client-go's recorder writes them: a repeated one raises the count of the first.

Also its spam filter (`EventSourceObjectSpamFilter`): 25 events at once per object, then one in five minutes.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

import structlog

from app.simulator.clock import Clock
from app.simulator.events import event_of, namespace_of
from app.simulator.kinds import EVENT
from app.simulator.objects import ApiError, Object, Objects

BURST = 25
REFILL_SECONDS = 300.0
_REMEMBERED = 4096

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Tokens:
    left: float
    at: float


@dataclass(slots=True)
class _Known:
    name: str
    count: int


class EventRecorder:
    """Writes core/v1 Events of one component."""

    def __init__(self, objects: Objects, clock: Clock, component: str) -> None:
        self._objects = objects
        self._clock = clock
        self._component = component
        self._tokens: OrderedDict[str, _Tokens] = OrderedDict()
        self._known: OrderedDict[tuple[str, ...], _Known] = OrderedDict()

    async def record(self, obj: Object, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Write one event about `obj`; a refusal by the API server is logged, never raised."""
        uid = str(obj["metadata"].get("uid", ""))
        if not self._allowed(uid):
            return
        key = (uid, kind, reason, message)
        known = self._known.get(key)
        try:
            if known is None or not await self._repeat(obj, known):
                self._known[key] = await self._create(obj, kind, reason, message)
        except ApiError as error:
            log.warning("An event was refused.", reason=reason, code=error.code)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def _allowed(self, uid: str) -> bool:
        now = asyncio.get_running_loop().time() * self._clock.speed
        tokens = self._tokens.setdefault(uid, _Tokens(BURST, now))
        self._tokens.move_to_end(uid)
        tokens.left = min(float(BURST), tokens.left + (now - tokens.at) / REFILL_SECONDS)
        tokens.at = now
        while len(self._tokens) > _REMEMBERED:
            self._tokens.popitem(last=False)
        if tokens.left < 1.0:
            return False
        tokens.left -= 1.0
        return True

    async def _repeat(self, obj: Object, known: _Known) -> bool:
        change = {"count": known.count + 1, "lastTimestamp": self._clock.stamp()}
        try:
            await self._objects.patch(EVENT, namespace_of(obj), known.name, change)
        except ApiError as error:
            if error.code == 404:  # noqa: PLR2004 - HTTP's own number
                return False
            raise
        known.count += 1
        return True

    async def _create(self, obj: Object, kind: str, reason: str, message: str) -> _Known:
        event = event_of(obj, kind, reason, message, component=self._component)
        await self._objects.create(EVENT, event)
        return _Known(event["metadata"]["name"], 1)
