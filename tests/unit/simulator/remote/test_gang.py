"""Volcano's part on an API server that it reaches over HTTP only."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from app.simulator.clock import Clock
from app.simulator.kinds import JOB, POD, POD_GROUP, QUEUE
from app.simulator.objects import Object, Objects
from app.simulator.volcano.run import VolcanoSettings, run_volcano

LIMIT_SECONDS = 60


async def until(read: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not holds(found := await read()):  # noqa: ASYNC110 - the condition is on a server
            await asyncio.sleep(0.05)
    return found


@pytest.fixture
async def volcano(objects: Objects) -> AsyncIterator[None]:
    task = asyncio.create_task(run_volcano(objects, Clock(), VolcanoSettings(schedule_period_seconds=0.1)))
    yield
    assert not task.done(), task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def gang(name: str, size: int, **more: Any) -> Object:
    resources = {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}, "limits": {"cpu": "1", "nvidia.com/gpu": "1"}}
    container = {"name": "main", "image": "busybox", "command": ["sleep", "5"], "resources": resources}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    task = {"name": "worker", "replicas": size, "template": template}
    spec = {"schedulerName": "volcano", "queue": "default", "minAvailable": size, "tasks": [task], **more}
    return {"metadata": {"name": name, "namespace": "team"}, "spec": spec}


def phase(job: Object) -> str:
    return str(((job.get("status") or {}).get("state") or {}).get("phase"))


@pytest.mark.usefixtures("volcano")
async def test_a_gang_runs_to_completion(objects: Objects) -> None:
    await until(lambda: objects.list(QUEUE), lambda queues: len(queues) == 2)
    await objects.create(JOB, gang("first", 3))
    await objects.create(JOB, gang("second", 3))

    async def jobs() -> list[Object]:
        return await objects.list(JOB, "team")

    await until(jobs, lambda found: [phase(job) for job in found] == ["Completed", "Completed"])
    pods = await objects.list(POD, "team")
    assert [pod["status"]["phase"] for pod in pods] == ["Succeeded"] * 6
    assert {group["status"]["phase"] for group in await objects.list(POD_GROUP, "team")} <= {"Completed"}
