"""Puts what an earlier recording had left behind on a cluster, and takes it away."""

import asyncio
from collections.abc import Iterable
from typing import Any

from app.simulator.kinds import JOB, NAMESPACE, POD, POD_GROUP, QUEUE
from app.simulator.objects import Objects
from tests.contract.volcano.surroundings import LEFT_OVER_NAMESPACE, LeftOverJob
from tests.contract.volcano.texts import without_uid

WAIT_SECONDS = 15.0
POLL_SECONDS = 0.01


async def leave_behind(objects: Objects, jobs: Iterable[LeftOverJob]) -> None:
    """Create Jobs one after the other, each once the one before runs, and wait until as many pods run as did then."""
    jobs = tuple(jobs)
    await objects.create(NAMESPACE, {"metadata": {"name": LEFT_OVER_NAMESPACE}})
    for job in jobs:
        await objects.create(QUEUE, job.queue_object)
        async with asyncio.timeout(WAIT_SECONDS):
            while not await _is_open(objects, job.queue):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(POLL_SECONDS)
    for number, job in enumerate(jobs):
        await objects.create(JOB, job.job_object)
        last = number == len(jobs) - 1
        await _until_running(objects, {job.name: job.running for job in jobs} if last else {job.name: job.pods})


async def clear_away(objects: Objects, grace_seconds: int) -> None:
    """Delete the Jobs and, before a session can see a part of them, all their pods."""
    for job in await objects.list(JOB, LEFT_OVER_NAMESPACE):
        await objects.delete(JOB, LEFT_OVER_NAMESPACE, job["metadata"]["name"])
    for pod in await objects.list(POD, LEFT_OVER_NAMESPACE):
        name = pod["metadata"]["name"]
        await objects.delete(POD, LEFT_OVER_NAMESPACE, name, grace_period_seconds=grace_seconds)


def is_left_over(obj: dict[str, Any]) -> bool:
    """Whether an object belongs to what was left behind."""
    involved = obj.get("involvedObject") or {}
    return LEFT_OVER_NAMESPACE in (obj["metadata"].get("namespace"), involved.get("namespace"))


async def _is_open(objects: Objects, queue: str) -> bool:
    found = await objects.get(QUEUE, None, queue)
    return (found.get("status") or {}).get("state") == "Open"


async def _until_running(objects: Objects, wanted: dict[str, int]) -> None:
    """Wait until the scheduler says so: before, it still holds room for pods that run already."""
    async with asyncio.timeout(WAIT_SECONDS):
        while await _running(objects) != wanted:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(POLL_SECONDS)


async def _running(objects: Objects) -> dict[str, int]:
    groups = await objects.list(POD_GROUP, LEFT_OVER_NAMESPACE)
    return {without_uid(group["metadata"]["name"]): (group.get("status") or {}).get("running", 0) for group in groups}
