"""Keeping the last lines of pods that end, so that they can be read when the pods are gone.

Best effort beside the reconciling, which never waits for it: few logs at a time, each within some seconds. What fails
and who is late leaves nothing, and the API says then that the log is gone.
"""

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.cluster.containers import LogOptions, PodReference
from app.cluster.errors import ClusterError, ClusterThrottled, ClusterUnavailable
from app.cluster.observed import ObservedPod
from app.cluster.pod_logs import PodLogs
from app.controller.leader import LeadershipLost, Lease, fenced
from app.controller.log_tail import LogTail
from app.controller.together import run_together
from app.controller.view import uuid_of
from app.db import Sessions, is_away
from app.jobs import log_tails
from app.settings import Settings
from app.telemetry import LOG_TAILS, get_logger

_WORKERS = 4
_MOST_WAITING = 10_000
_READ_SECONDS = 10.0
_TRIES = 4
_RETRY_SECONDS = 2.0
_log = get_logger(__name__)


@dataclass(order=True, slots=True)
class _Task:
    """A log to read: those of pods that are being deleted first, and failures before successes."""

    urgency: int
    number: int
    pod: ObservedPod = field(compare=False)
    job_id: UUID = field(compare=False)
    tries: int = field(default=0, compare=False)


class LogKeeper:
    """Reads the ends of logs and writes them into the database, for one term as the leader."""

    def __init__(self, sessions: Sessions, lease: Lease, logs: PodLogs, settings: Settings) -> None:
        self._sessions = sessions
        self._lease = lease
        self._logs = logs
        self._lines = settings.kept_log_lines
        self._bytes = settings.kept_log_bytes
        self._job_bytes = settings.kept_log_job_bytes
        self._waiting: asyncio.PriorityQueue[_Task] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._noticed: dict[str, bool] = {}

    def notice(self, old: ObservedPod | None, new: ObservedPod | None) -> None:
        """A pod was seen to change. It costs nothing: what is to be read waits."""
        if old is not None and (new is None or new.uid != old.uid):
            self._noticed.pop(old.uid, None)
        if new is None or not self._lines or new.started_at is None or not _ends(new):
            return
        job_id = uuid_of(new.job_id or "")
        complete = _is_over(new)
        if job_id is None or self._noticed.get(new.uid) in {True, complete}:
            return
        self._noticed[new.uid] = complete
        self._put(_Task(_urgency(new), next(self._numbers), new, job_id))

    async def run(self) -> None:
        """Work for ever."""
        await run_together(*(self._work_for_ever() for _ in range(_WORKERS)))

    def _put(self, task: _Task) -> None:
        if self._waiting.qsize() >= _MOST_WAITING:
            LOG_TAILS.labels("dropped").inc()
        else:
            self._waiting.put_nowait(task)

    async def _work_for_ever(self) -> None:
        while True:
            task = await self._waiting.get()
            try:
                await self._keep(task)
            except LeadershipLost:
                raise
            except (ClusterUnavailable, ClusterThrottled, TimeoutError):
                self._try_again(task)
            except ClusterError:
                LOG_TAILS.labels("refused").inc()  # the pod is gone, or our account lacks the right, which is logged
            except Exception as error:  # noqa: BLE001 - one pod's log must not end the term
                if not is_away(error):
                    _log.exception("log_not_kept")
                self._try_again(task)

    def _try_again(self, task: _Task) -> None:
        task.tries += 1
        if task.tries >= _TRIES:
            LOG_TAILS.labels("failed").inc()
            return
        asyncio.get_running_loop().call_later(_RETRY_SECONDS * task.tries, self._put, task)

    async def _keep(self, task: _Task) -> None:
        pod = task.pod
        async with self._sessions() as session:
            if not await log_tails.is_wanted(session, task.job_id, pod.uid):
                return
        async with asyncio.timeout(_READ_SECONDS):
            text, truncated = await self._read(pod)
        tail: dict[str, Any] = {
            "uid": pod.uid,
            "job_id": task.job_id,
            "container": pod.task,
            "text": text,
            "size": len(text),
            "truncated": truncated,
            "complete": _is_over(pod),
        }
        # half of a job's room is for failures alone: their last lines are what people look for
        most = self._job_bytes if pod.phase == "Failed" else self._job_bytes // 2
        async with fenced(self._sessions, self._lease) as session:
            await log_tails.keep(session, tail, most=most)
        LOG_TAILS.labels("kept").inc()

    async def _read(self, pod: ObservedPod) -> tuple[bytes, bool]:
        tail = LogTail(most_lines=self._lines, most_bytes=self._bytes)
        options = LogOptions(pod.task, tail=self._lines + 1)  # one more, to know whether there were more
        async with self._logs.open(PodReference(pod.namespace, pod.name, pod.uid), options) as pieces:
            async for piece in pieces:
                tail.feed(piece)
        return tail.end()


def _is_over(pod: ObservedPod) -> bool:
    return pod.phase in {"Succeeded", "Failed"}


def _ends(pod: ObservedPod) -> bool:
    """Whether it has ended, or is about to go: then its log is read at once, and again should it end before it goes."""
    return _is_over(pod) or pod.deleting


def _urgency(pod: ObservedPod) -> int:
    if pod.deleting:
        return 0
    return 1 if pod.phase == "Failed" else 2
