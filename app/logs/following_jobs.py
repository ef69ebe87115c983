"""Following the logs of a job: pods are found as they come, and the answer ends with the last of them."""

import asyncio
import time
from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from app.db import Sessions, is_away
from app.logs import store
from app.logs.choosing import Asked, JobFacts, PodFacts
from app.logs.following import Follower, Write
from app.logs.lines import LineCutter, prefixed
from app.logs.reading import prefix_of
from app.logs.upstream import Upstream

_LOOK_SECONDS = 2.0
_LOOK_FOR_PODS_SECONDS = 0.5
_TROUBLE_SECONDS = 10.0


class JobFollower:
    """Follows some replicas of a job, each through its pods, one after the other.

    A replica is done when its pod has succeeded, or with the asked attempt; everything is done when the job has ended.
    No connection to the database is held between two looks.
    """

    def __init__(
        self, sessions: Sessions, upstream: Upstream, asked: Asked, job_id: UUID, replicas: Collection[tuple[str, int]]
    ) -> None:
        self._sessions = sessions
        self._upstream = upstream
        self._asked = self._asked_of_next = asked
        self._job_id = job_id
        self._replicas = replicas
        self._followers: dict[tuple[str, int], tuple[Follower, asyncio.Task[None]]] = {}
        self._ended_at: float | None = None

    async def run(self, job: JobFacts, pods: list[PodFacts], write: Write) -> None:
        """Write until there will be no more.

        Args:
            job: as just read.
            pods: its newest pods, as just read.
            write: takes the text.
        """
        try:
            while True:
                for pod in pods:
                    self._follow(job, pod, write)
                self._asked_of_next = replace(self._asked, tail=None)  # all that a later pod prints is news
                if self._is_over(job, pods):
                    return
                await self._wait()
                job, pods = await self._look(job, pods)
        finally:
            tasks = [task for _, task in self._followers.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self, job: JobFacts, pods: list[PodFacts]) -> tuple[JobFacts, list[PodFacts]]:
        """Read job and pods anew; while the database is away they stay as they were, and the streams go on."""
        try:
            async with self._sessions() as session:
                found = await store.find_job(session, self._job_id, None)
                newest = await store.latest_pods(session, self._job_id, self._replicas, self._asked.attempt)
        except Exception as error:
            if not is_away(error):
                raise
            return job, pods
        return found or job, newest

    def _follow(self, job: JobFacts, pod: PodFacts, write: Write) -> None:
        """Follow a replica's newest pod, once the one before has been read."""
        key = (pod.task, pod.index)
        if key in self._followers:
            before, task = self._followers[key]
            if not task.done() or before.pod.uid == pod.uid:
                return
            task.result()
        follower = Follower(self._sessions, self._upstream, self._asked_of_next, job, pod)
        run = follower.run(write) if len(self._replicas) == 1 else _Prefixing(pod, write).run(follower)
        self._followers[key] = (follower, asyncio.create_task(run))

    async def _wait(self) -> None:
        """Wait for a follower to be done, or for the time of the next look."""
        running = [task for _, task in self._followers.values() if not task.done()]
        seconds = _LOOK_SECONDS if len(running) == len(self._replicas) else _LOOK_FOR_PODS_SECONDS
        if running:
            await asyncio.wait(running, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(seconds)

    def _is_over(self, job: JobFacts, pods: list[PodFacts]) -> bool:
        running = [(follower, task) for follower, task in self._followers.values() if not task.done()]
        for _, task in self._followers.values():
            if task.done():
                task.result()  # what failed must not look like an end
        if job.ended and self._ended_at is None:
            self._ended_at = time.monotonic()
        if running:
            stuck = all(follower.in_trouble for follower, _ in running)
            return stuck and self._ended_at is not None and time.monotonic() - self._ended_at > _TROUBLE_SECONDS
        if job.ended:
            return True
        if self._asked.attempt is not None and job.attempt > self._asked.attempt:
            return True
        done = [pod for pod in pods if pod.phase == "Succeeded" or (self._asked.attempt is not None and pod.over)]
        return len(done) == len(self._replicas)


class _Prefixing:
    """Writes text line by line, each behind the name of its replica."""

    def __init__(self, pod: PodFacts, write: Write) -> None:
        self._prefix = prefix_of(pod)
        self._write = write
        self._cutter = LineCutter()

    async def write(self, text: bytes) -> None:
        """Write the lines that end in this text."""
        await self._give(self._cutter.feed(text))

    async def run(self, follower: Follower) -> None:
        """Follow, and write the last line, too."""
        await follower.run(self.write)
        await self._give(self._cutter.end())

    async def _give(self, lines: list[bytes]) -> None:
        if lines:
            await self._write(prefixed(self._prefix, lines))
