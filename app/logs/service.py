"""Answering requests for logs: what is there is opened first, so that a refusal is a problem and not half an answer."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from app.cluster.containers import PodReference
from app.cluster.errors import PodGone
from app.db import Sessions, away_as_unavailable
from app.errors import AppError, LogsGone, LogsNotAvailable, NotFound, Unavailable
from app.logs import store
from app.logs.choosing import Asked, JobFacts, PodFacts, check_attempt, container_asked, replicas_asked
from app.logs.following import Write
from app.logs.following_jobs import JobFollower
from app.logs.reading import Reader, Sources, since_nanoseconds, text_of
from app.logs.upstream import Upstream, cluster_trouble
from app.settings import Settings

_HEADER = "Pumice-Log-"


class Body(Protocol):
    """What an answer writes. The headers are known before the first byte."""

    @property
    def headers(self) -> dict[str, str]:
        """Where the text is from, and what is not in it."""
        ...

    async def write_to(self, write: Write) -> None:
        """Write all of it."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """Opened logs, cut at a size."""

    sources: Sources
    asked: Asked
    single: bool
    most: int | None

    @property
    def headers(self) -> dict[str, str]:
        """Where the text is from, and what is not in it."""
        found, missing = self.sources.found, self.sources.missing
        kinds = {source.kind for source in found}
        headers = {"Source": kinds.pop() if len(kinds) == 1 else "mixed"}
        if any(source.truncated for source in found):
            headers["Truncated"] = "true"
        if missing:
            headers["Missing"] = ", ".join(f"{pod.replica} ({error.type})" for pod, error in missing)
        if self.most is not None:
            headers["Limit-Bytes"] = str(self.most)
        return {_HEADER + name: value for name, value in headers.items()}

    async def write_to(self, write: Write) -> None:
        """Write the text up to the limit, and a last line that says so when it is cut."""
        left = self.most
        async for text in text_of(self.sources.found, since_nanoseconds(self.asked.since), single=self.single):
            if left is not None and len(text) > left:
                words = f"pumice: cut after {self.most} bytes; tail, since and follow show the rest"
                await write(text[:left] + f"\n[{words}]\n".encode())
                return
            left = None if left is None else left - len(text)
            await write(text)


@dataclass(frozen=True, slots=True)
class Followed:
    """The logs of a job that goes on."""

    follower: JobFollower
    job: JobFacts
    pods: list[PodFacts]

    @property
    def headers(self) -> dict[str, str]:
        """See `Body`; proxies must not hold back what is followed (nginx, `proxy_buffering`)."""
        return {_HEADER + "Source": "live", "X-Accel-Buffering": "no"}

    async def write_to(self, write: Write) -> None:
        """Write until the job has ended."""
        await self.follower.run(self.job, self.pods, write)


class Logs:
    """The logs of jobs, within the limits of one process.

    Attributes:
        closing: set when every answer has to end.
    """

    def __init__(self, settings: Settings, sessions: Sessions, upstream: Upstream) -> None:
        self._sessions = sessions
        self._upstream = upstream
        self._reader = Reader(sessions, upstream)
        self._most_bytes = settings.log_max_bytes
        self._most_pods = settings.log_max_pods
        self._most_streams = settings.log_max_streams
        self._streams = 0
        self.closing = asyncio.Event()

    def close(self) -> None:
        """End every answer at once: the process is about to stop."""
        self.closing.set()

    @asynccontextmanager
    async def open(self, job_id: UUID, team: str | None, asked: Asked) -> AsyncIterator[Body]:
        """Open what a request asks for; everything is closed at the end of the block.

        Raises:
            NotFound: there is no such job in `team` (None: any team), or no such task, replica, attempt or container.
            LogsNotAvailable, LogsGone: there is nothing to read yet, or any more.
            ClusterUnavailable: the cluster does not answer.
            Unavailable: this process has too many logs open.
            ValidationError: more replicas are meant than are shown together.
        """
        with away_as_unavailable():
            async with self._sessions() as session:
                job = await store.find_job(session, job_id, team)
                if job is None:
                    raise NotFound("There is no such job.")
                replicas = replicas_asked(asked, job, self._most_pods)
                pods = await store.latest_pods(session, job_id, replicas, asked.attempt)
        check_attempt(asked, job, pods)
        with self._room(len(replicas)):
            if asked.follow and not _is_history(asked, job, pods, len(replicas)):
                await self._check(asked, job, pods)
                follower = JobFollower(self._sessions, self._upstream, asked, job_id, replicas)
                yield Followed(follower, job, pods)
                return
            async with AsyncExitStack() as stack:
                sources = await self._open_all(stack, asked, job, pods)
                most = None if asked.follow else self._most_bytes
                yield Found(sources, asked, len(replicas) == 1, most)

    async def _open_all(self, stack: AsyncExitStack, asked: Asked, job: JobFacts, pods: Sequence[PodFacts]) -> Sources:
        if not pods:
            raise _nothing_ran(asked, job)
        sources = await self._reader.open_all(stack, asked, job, pods)
        if not sources.found:
            raise min((error for _, error in sources.missing), key=_severity)
        return sources

    async def _check(self, asked: Asked, job: JobFacts, pods: Sequence[PodFacts]) -> None:
        """Refuse before the answer begins what could not be told later: no such container, a cluster that is away."""
        for pod in [pod for pod in pods if not pod.gone][:1]:
            try:
                with cluster_trouble():
                    containers = await self._upstream.containers(PodReference(job.namespace, pod.name, pod.uid))
            except PodGone:
                continue
            container_asked(asked, pod, containers)

    @contextmanager
    def _room(self, streams: int) -> Iterator[None]:
        if self._streams + streams > self._most_streams:
            words = f"This process has {self._streams} of at most {self._most_streams} logs open; try again later."
            raise Unavailable(words)
        self._streams += streams
        try:
            yield
        finally:
            self._streams -= streams


def _is_history(asked: Asked, job: JobFacts, pods: Sequence[PodFacts], replicas: int) -> bool:
    """Whether nothing will be added any more to what is asked for."""
    past = asked.attempt is not None and (job.attempt > asked.attempt or len(pods) == replicas)
    return job.ended or (past and all(pod.gone for pod in pods))


def _nothing_ran(asked: Asked, job: JobFacts) -> AppError:
    """The problem of a job none of whose pods has been seen."""
    if job.ended:
        words = f"The job ended as {job.state} before any of these pods was seen; it printed nothing."
        return LogsGone(words, reason=job.reason or "NeverStarted")
    if asked.attempt is not None and asked.attempt < job.attempt:
        return LogsGone("No pod of that attempt was seen; what it printed was not kept.", reason="NeverSeen")
    reason = job.reason or str(job.state)
    words = f"The job is {job.state} ({reason}) and has no pod yet; ask again later, or with follow=true to wait."
    return LogsNotAvailable(words, reason=reason)


def _severity(error: AppError) -> int:
    """Which of several problems to tell: what may pass, before what waits, before what is over."""
    order = (Unavailable, LogsNotAvailable, LogsGone)
    return next((place for place, kind in enumerate(order) if isinstance(error, kind)), len(order))
