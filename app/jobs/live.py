"""New events for every stream of a process, read from Postgres once.

One poller reads what is new while anybody follows, and keeps the last few thousand events. Each follower takes what
it wants from them at its own pace, by its position. Who is behind what is kept reads the history until it has caught
up. So a slow follower costs no memory, holds no connection, and keeps nobody waiting.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from app import telemetry
from app.db import Sessions, away_as_unavailable, is_away, reading
from app.errors import Unavailable
from app.jobs.feed import Position, read_after
from app.jobs.horizon import Horizon
from app.jobs.kept_events import Entry, Kept, Part, Wanted
from app.jobs.store import Row

KEPT_EVENTS = 4000
MOST_FOLLOWERS = 2000
_AT_ONCE = 200
"""Events of one batch, and so of one write to a connection."""

_READERS = 2
"""Followers that read the history at the same moment, of all connections of the process."""

_AWAY_SECONDS = 1.0
_START_SECONDS = 5.0
_IDLE_SECONDS = 10.0
_SETTLE_SECONDS = 0.02
"""Long enough for most transactions that were writing at a first look to have ended at a second one."""

_log = telemetry.get_logger(__name__)


class LiveFeed:
    """See above. Belongs to one event loop; `close` ends everything that follows."""

    def __init__(self, sessions: Sessions, *, poll_seconds: float, encode: Callable[[Row], bytes]) -> None:
        self.horizon = Horizon()
        self._sessions = sessions
        self._poll_seconds = poll_seconds
        self._encode = encode
        self._kept = Kept(most=KEPT_EVENTS)
        self._followers = 0
        self._idle_since = 0.0
        self._closed = False
        self._changed = asyncio.Event()
        self._starting = asyncio.Lock()
        self._readers = asyncio.Semaphore(_READERS)
        self._poller: asyncio.Task[None] | None = None

    @property
    def position(self) -> Position:
        """Up to where the poller has read; about now."""
        return self._kept.end

    def close(self) -> None:
        """End everything that follows, at once; nothing new begins."""
        self._closed = True
        if self._poller is not None:
            self._poller.cancel()
        self._tell()

    async def ready(self) -> None:
        """Begin to poll, unless that goes on already; it ends by itself when nobody follows any more.

        Raises:
            Unavailable: the database does not answer, the process is about to stop, or too many follow already.
        """
        if self._closed:
            raise Unavailable("This process is about to stop; connect again.", retry_after_seconds=1)
        if self._followers >= MOST_FOLLOWERS:
            raise Unavailable(f"{MOST_FOLLOWERS} streams are open in this process; close some, or try again later.")
        with away_as_unavailable():
            await self._poll_on()

    async def _poll_on(self) -> None:
        async with self._starting:
            self._idle_since = time.monotonic()
            if self._poller is None or self._poller.done():
                self._kept.restart(await self.horizon.reach(self._sessions, seconds=_START_SECONDS))
                self._poller = asyncio.create_task(self._poll(), name="event feed")

    async def gave_out(self, position: Position) -> bool:
        """Whether Postgres has given out ids as far as a position, by its word of now when need be.

        Raises:
            Unavailable: the database does not answer.
        """
        if position > self.horizon.last:
            with away_as_unavailable():
                await self._look()
        return position <= self.horizon.last

    @contextmanager
    def following(self) -> Iterator[None]:
        """Count one follower, for as long as it follows."""
        self._followers += 1
        telemetry.EVENT_STREAMS.set(self._followers)
        try:
            yield
        finally:
            self._followers -= 1
            self._idle_since = time.monotonic()
            telemetry.EVENT_STREAMS.set(self._followers)

    async def next(self, wanted: Wanted, position: Position, *, seconds: float) -> Part | None:
        """The next events behind a position, or none after so many seconds; None when following has to end.

        That is when the feed is closed, or Postgres lost events in a failover that were delivered.
        """
        deadline = time.monotonic() + seconds
        while not self._closed and position <= self.horizon.last:
            if position < self._kept.start or self._poller is None or self._poller.done():
                return await self._from_history(wanted, position)
            part = self._kept.next(wanted, position)
            if part.entries:
                return part
            position = part.position
            changed = self._changed
            try:
                async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                    await changed.wait()
            except TimeoutError:
                return Part((), position)
        return None

    async def _from_history(self, wanted: Wanted, position: Position) -> Part:
        """The same for somebody who is behind what is kept. Read by pages, and never by all at once."""
        try:
            await self._poll_on()
            async with self._readers, reading(self._sessions) as session:
                rows, behind = await read_after(
                    session, position, until=self._kept.start, limit=_AT_ONCE, **asdict(wanted)
                )
        except Exception as error:
            if not is_away(error) and not isinstance(error, Unavailable):
                raise
            await asyncio.sleep(_AWAY_SECONDS)
            return Part((), position)
        return Part([Entry(row, self._encode) for row in rows], behind)

    async def _look(self) -> Position:
        async with reading(self._sessions) as session:
            return await self.horizon.look(session)

    async def _poll(self) -> None:
        away = False
        while self._followers or time.monotonic() - self._idle_since < _IDLE_SECONDS:
            try:
                await self._read_new()
                away = False
            except Exception as error:  # noqa: BLE001 - the streams stay open, whatever it is, and go on after it
                if not away:
                    _log.warning("event_feed_away", exc_info=error)
                away = True
            telemetry.EVENTS_UNDECIDED_SECONDS.set(self.horizon.waiting_seconds)
            await asyncio.sleep(_AWAY_SECONDS if away else self._poll_seconds)

    async def _read_new(self) -> None:
        until = await self._look()
        if self.horizon.waiting_seconds:
            await asyncio.sleep(_SETTLE_SECONDS)
            until = await self._look()
        if self.horizon.last < self._kept.end:
            _log.error("events_lost", position=self._kept.end, last=self.horizon.last)
            self._kept.restart(await self.horizon.reach(self._sessions, seconds=_START_SECONDS))
            self._tell()
        async with reading(self._sessions) as session:
            while self._kept.end < until:
                rows, position = await read_after(session, self._kept.end, until=until, limit=_AT_ONCE)
                self._kept.add(Part([Entry(row, self._encode) for row in rows], position))
                self._tell()

    def _tell(self) -> None:
        """Wake everybody who waits for something new."""
        self._changed.set()
        self._changed = asyncio.Event()
