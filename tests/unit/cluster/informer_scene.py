"""An informer at a scripted server: objects, and what it told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from app.cluster.informer import Informer
from app.cluster.informer_settings import InformerMetrics, InformerSettings, Timing
from app.cluster.kinds import JOB
from app.cluster.observe import observe_job
from app.cluster.observed import ObservedJob
from app.cluster.volcano import Volcano

JOBS = JOB.collection_path


def job(name: str, version: int, phase: str = "Running", uid: str | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team-nlp", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    labels = {"pumice.dev/job-id": f"id-{name}"}
    return {"metadata": {**metadata, "labels": labels}, "spec": spec, "status": {"state": {"phase": phase}}}


def listed(version: int, *items: dict[str, Any], more: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(items)}


def event(kind: str, obj: Any) -> dict[str, Any]:
    return {"type": kind, "object": obj}


@dataclass
class Recorder(InformerMetrics):
    """What the informer told, and the time it was given."""

    changes: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    lists: int = 0
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    def change(self, key: str, old: ObservedJob | None, new: ObservedJob | None) -> None:
        self.changes.append((key, old and old.phase, new and new.phase))
        self.happened.set()

    def listed(self, kind: str, objects: int) -> None:
        self.lists += 1

    def skipped(self, kind: str, reason: str) -> None:
        self.skips.append(reason)
        self.happened.set()

    def failed(self, kind: str, error: str) -> None:
        self.failures.append(error)
        self.happened.set()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not true():
                self.happened.clear()
                # Requests reach the server without a word from the informer: look again now and then.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.happened.wait(), 0.02)


@asynccontextmanager
async def running(
    volcano: Volcano, recorder: Recorder, settings: InformerSettings | None = None, **more: Any
) -> AsyncIterator[Informer[ObservedJob]]:
    informer = Informer(
        volcano,
        JOB,
        more.pop("project", observe_job),
        on_change=recorder.change,
        metrics=recorder,
        settings=settings,
        timing=Timing(sleep=recorder.sleep, uniform=max),
        index_by=lambda observed: observed.job_id,
        **more,
    )
    task = asyncio.create_task(informer.run())
    try:
        yield informer
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def watches(server: Any) -> list[str]:
    return [request.query["resourceVersion"] for request in server.requests if "watch" in request.query]


def lists(server: Any) -> list[str]:
    return [request.query.get("continue", "") for request in server.requests if "watch" not in request.query]
