"""Reading what there is now: each pod's log from the cluster, or its kept end from the database."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime

from app.cluster.containers import LogOptions, PodReference
from app.cluster.errors import ContainerWaits, PodGone
from app.db import Sessions, away_as_unavailable
from app.errors import AppError, LogsGone, LogsNotAvailable
from app.logs import store
from app.logs.choosing import Asked, JobFacts, PodFacts, container_asked, is_readable
from app.logs.cursor import SECOND, LogCursor
from app.logs.lines import merged, timed_lines
from app.logs.upstream import Upstream, cluster_trouble

LIVE, KEPT = "live", "kept"


@dataclass(frozen=True, slots=True)
class Source:
    """One pod's log, open. `truncated` says that the beginning was not kept."""

    pod: PodFacts
    kind: str
    pieces: AsyncIterator[bytes]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """The logs that could be opened, and why each of the others could not."""

    found: list[Source]
    missing: list[tuple[PodFacts, AppError]]


class Reader:
    """Opens the logs of pods."""

    def __init__(self, sessions: Sessions, upstream: Upstream) -> None:
        self._sessions = sessions
        self._upstream = upstream

    async def open_all(self, stack: AsyncExitStack, asked: Asked, job: JobFacts, pods: Sequence[PodFacts]) -> Sources:
        """Open the logs of some pods at the same time; the stack closes them."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._try(stack, asked, job, pod)) for pod in pods]
        tried = [task.result() for task in tasks]
        pairs = list(zip(pods, tried, strict=True))
        return Sources(
            found=[each for each in tried if isinstance(each, Source)],
            missing=[(pod, each) for pod, each in pairs if isinstance(each, AppError)],
        )

    async def _try(self, stack: AsyncExitStack, asked: Asked, job: JobFacts, pod: PodFacts) -> Source | AppError:
        try:
            with away_as_unavailable():
                return await self._open(stack, asked, job, pod)
        except AppError as error:
            return error

    async def _open(self, stack: AsyncExitStack, asked: Asked, job: JobFacts, pod: PodFacts) -> Source:
        if pod.gone:
            return await self._kept(asked, job, pod)
        reference = PodReference(job.namespace, pod.name, pod.uid)
        try:
            with cluster_trouble():
                container = container_asked(asked, pod, await self._upstream.containers(reference))
                if not is_readable(container):
                    raise not_started(pod, container.reason)
                options = LogOptions(container.name, previous=asked.previous, tail=asked.tail, since=asked.since)
                pieces = await stack.enter_async_context(self._upstream.open(reference, options))
        except PodGone:
            return await self._kept(asked, job, pod)
        except ContainerWaits as error:
            raise not_started(pod, "ContainerCreating") from error
        return Source(pod, LIVE, pieces)

    async def _kept(self, asked: Asked, job: JobFacts, pod: PodFacts) -> Source:
        async with self._sessions() as session:
            tail = await store.kept_tail(session, pod.uid)
        if tail is None or asked.previous or asked.container not in {None, tail.container}:
            raise gone(pod, job)
        text, truncated = bytes(tail.text), bool(tail.truncated)
        if asked.tail is not None:
            short = last_lines(text, asked.tail)
            text, truncated = short, truncated and short == text
        return Source(pod, KEPT, _one(text), truncated)


async def _one(text: bytes) -> AsyncIterator[bytes]:
    if text:
        yield text


def last_lines(text: bytes, count: int) -> bytes:
    """The last lines of a text; a last one without its newline counts."""
    if not count:
        return b""
    start = len(text) - text.endswith(b"\n")
    for _ in range(count):
        start = text.rfind(b"\n", 0, start)
        if start < 0:
            return text
    return text[start + 1 :]


def since_nanoseconds(since: datetime | None) -> int | None:
    """A moment as the times of lines are counted."""
    if since is None:
        return None
    return int(since.timestamp()) * SECOND + since.microsecond * 1000


async def text_of(sources: Sequence[Source], since: int | None, *, single: bool) -> AsyncIterator[bytes]:
    """The text of opened logs: of one as it was printed, of several line by line behind their replicas' names."""
    if single:
        cursor = LogCursor(since)
        async for piece in sources[0].pieces:
            if text := cursor.feed(piece):
                yield text
        if text := cursor.end():
            yield text
        return
    logs = [(prefix_of(source.pod), timed_lines(source.pieces, since)) for source in sources]
    async for text in merged(logs):
        yield text


def prefix_of(pod: PodFacts) -> bytes:
    """What stands before each line where there are several logs."""
    return f"{pod.replica} | ".encode()


def not_started(pod: PodFacts, reason: str) -> LogsNotAvailable:
    """The problem of a container that waits."""
    words = f"{pod.replica} has not started yet ({reason}); ask again later, or with follow=true to wait."
    return LogsNotAvailable(words, reason=reason)


def gone(pod: PodFacts, job: JobFacts) -> LogsGone:
    """The problem of a pod that is not there any more, with the reason that was last seen."""
    reason = pod.reason or ("JobLost" if job.state == "lost" else "Deleted")
    why = {"Deleted": "was deleted", "JobLost": "was deleted with its job, outside of this service"}
    how = why.get(reason, f"is gone (last seen: {reason})")
    return LogsGone(f"The pod of {pod.replica} {how}, and its last lines were not kept.", reason=reason)
