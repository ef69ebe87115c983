"""Following one pod's log: opened again where it stopped, until its container has ended or the pod is gone."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from app.cluster.containers import LogOptions, PodReference, Stage
from app.cluster.errors import ClusterError, ContainerWaits, PodGone
from app.db import Sessions, is_away
from app.errors import ContainerNotFound
from app.logs import store
from app.logs.choosing import Asked, JobFacts, PodFacts, container_asked
from app.logs.cursor import LogCursor, moment_of
from app.logs.reading import last_lines, since_nanoseconds
from app.logs.upstream import Upstream

Write = Callable[[bytes], Awaitable[None]]
"""Sends text to the reader; returns once there is room for more."""

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 3.0


class Follower:
    """Follows one pod.

    Attributes:
        in_trouble: the cluster did not answer the last time it was asked.
    """

    def __init__(self, sessions: Sessions, upstream: Upstream, asked: Asked, job: JobFacts, pod: PodFacts) -> None:
        self.pod = pod
        self.in_trouble = False
        self._sessions = sessions
        self._upstream = upstream
        self._asked = asked
        self._reference = PodReference(job.namespace, pod.name, pod.uid)
        self._write: Write | None = None
        self._cursor = LogCursor(since_nanoseconds(asked.since))
        self._since, self._tail = asked.since, asked.tail
        self._pause = _FIRST_PAUSE_SECONDS

    async def run(self, write: Write) -> None:
        """Write everything that the pod prints; returns when there will be no more."""
        self._write = write
        while not self.pod.gone:
            try:
                if await self._read():
                    await self._give(self._cursor.end())
                    return
            except PodGone:
                break
            except ContainerNotFound:
                return
            except ContainerWaits:
                self.in_trouble = False
            except ClusterError:
                self.in_trouble = True
            self._cursor.resume()
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE_SECONDS)
        await self._read_kept()

    async def _read(self) -> bool:
        """Read until the answer ends; True when the container had ended before it began, so that this was all."""
        container = container_asked(self._asked, self.pod, await self._upstream.containers(self._reference))
        self.in_trouble = False
        if container.stage is Stage.WAITING:
            self._tail = None  # all that it will print is news
            return False
        over = container.stage is Stage.ENDED
        options = LogOptions(container.name, follow=not over, tail=self._tail, since=self._latest())
        if self._tail == 0 and self._since is None:
            self._since = datetime.now(UTC)  # should nothing come before the answer ends, the next one begins here
        async with self._upstream.open(self._reference, options) as pieces:
            self._tail = None
            async for piece in pieces:
                self._pause = _FIRST_PAUSE_SECONDS
                await self._give(self._cursor.feed(piece))
        return over

    def _latest(self) -> datetime | None:
        return self._since if self._cursor.at is None else moment_of(self._cursor.at)

    async def _read_kept(self) -> None:
        """Write what the kept end of the log has beyond what was read."""
        if self._asked.container not in {None, self.pod.task}:
            return
        try:
            async with self._sessions() as session:
                tail = await store.kept_tail(session, self.pod.uid)
        except Exception as error:
            if not is_away(error):
                raise
            return
        if tail is not None:
            self._cursor.resume()
            text = bytes(tail.text)
            await self._give(self._cursor.feed(text if self._tail is None else last_lines(text, self._tail)))
            await self._give(self._cursor.end())

    async def _give(self, text: bytes) -> None:
        if text and self._write is not None:
            await self._write(text)
