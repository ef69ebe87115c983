"""Volcano's controllers on an API server in memory, without a scheduler: the tests play its part."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from app.simulator.clock import Clock
from app.simulator.collector import Collector
from app.simulator.kinds import COMMAND, EVENT, JOB, NAMESPACE, POD, POD_GROUP, QUEUE, Kind
from app.simulator.memory import MemoryObjects
from app.simulator.objects import ApiError, Object
from app.simulator.registry import Registry
from app.simulator.store import Store
from app.simulator.volcano.admission import VolcanoAdmission
from app.simulator.volcano.bootstrap import create_first_queues
from app.simulator.volcano.job_controller import JobController
from app.simulator.volcano.queue_controller import QueueController
from app.simulator.volcano.settings import VolcanoSettings

SPEED = 200.0
WAIT_SECONDS = 10.0
POLL_SECONDS = 0.001
NAMESPACED = "team"


class Cluster:
    """An API server with Volcano's controllers and verbs for tests."""

    def __init__(self) -> None:
        registry = Registry(Store())
        self._store = registry.store
        registry.admission = VolcanoAdmission(self._read, self._select)
        self.versions: list[Object] = []
        registry.store.listen(lambda _kind, change: self.versions.append(change.record.object))
        self.objects = MemoryObjects(registry)
        self.clock = Clock(SPEED)
        self.collector = Collector(registry)

    def start_controllers(self, settings: VolcanoSettings) -> None:
        self.parts = [
            asyncio.create_task(part)
            for part in (
                QueueController(self.objects, self.clock).run(),
                JobController(self.objects, self.clock, settings).run(),
            )
        ]

    async def stop_controllers(self) -> None:
        assert not [part for part in self.parts if part.done()]
        for part in self.parts:
            part.cancel()
        await asyncio.gather(*self.parts, return_exceptions=True)

    def _read(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        record = self._store.get(kind, (namespace or "", name))
        return record.object if record else None

    def _select(self, kind: Kind) -> list[Object]:
        return [record.object for record in self._store.records(kind)]

    def find(self, kind: Kind, name: str) -> Object | None:
        return self._read(kind, NAMESPACED if kind.namespaced else None, name)

    def names(self, kind: Kind) -> list[str]:
        return sorted(obj["metadata"]["name"] for obj in self._select(kind))

    def events(self, kind: str) -> list[tuple[str, str, str]]:
        found = (event for event in self._select(EVENT) if event["involvedObject"]["kind"] == kind)
        return [(event["type"], event["reason"], event["message"]) for event in found]

    async def until(self, condition: Callable[[], Any]) -> Any:
        async with asyncio.timeout(WAIT_SECONDS):
            while not (found := condition()):  # noqa: ASYNC110 - a condition on a store has no event
                await asyncio.sleep(POLL_SECONDS)
        return found

    async def idle(self) -> None:
        """Let everything that can go on without time go on."""
        for _ in range(200):
            await asyncio.sleep(0)

    async def submit(self, name: str = "a", *, replicas: int = 2, **spec: Any) -> Object:
        task: Object = {
            "name": "worker",
            "replicas": replicas,
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.test/x"}]}
            },
        }
        task.update(spec.pop("task", {}))
        tasks = spec.pop("tasks", [task])
        job = {"metadata": {"name": name, "namespace": NAMESPACED}, "spec": {"tasks": tasks, **spec}}
        return await self.objects.create(JOB, job)

    def pod_group(self, job: str = "a") -> Object | None:
        return next((g for g in self._select(POD_GROUP) if g["metadata"]["name"].startswith(f"{job}-")), None)

    async def admit(self, job: str = "a", phase: str = "Inqueue") -> None:
        group = await self.until(lambda: self.pod_group(job))
        await self.objects.patch(POD_GROUP, NAMESPACED, group["metadata"]["name"], {"status": {"phase": phase}})

    async def set_pod(self, name: str, phase: str, exit_code: int | None = None) -> None:
        await self.until(lambda: self.find(POD, name))
        state = {} if exit_code is None else {"terminated": {"exitCode": exit_code}}
        statuses = [{"name": "main", "ready": phase == "Running", "restartCount": 0, "state": state}]
        change = {"status": {"phase": phase, "containerStatuses": statuses}}
        await self.objects.patch(POD, NAMESPACED, name, change, "status")

    async def run_pods(self, job: str = "a", replicas: int = 2) -> None:
        for index in range(replicas):
            await self.set_pod(f"{job}-worker-{index}", "Running")
        await self.phase(job, "Running")

    async def start(self, name: str = "a", **spec: Any) -> Object:
        """Submit a Job and bring it to Running."""
        job = await self.submit(name, **spec)
        await self.admit(name)
        await self.run_pods(name, spec.get("replicas", 2))
        return job

    async def phase(self, name: str, phase: str) -> Object:
        def reached() -> Object | None:
            job = self.find(JOB, name)
            state = ((job or {}).get("status") or {}).get("state") or {}
            return job if state.get("phase") == phase else None

        found: Object = await self.until(reached)
        return found

    async def command(self, action: str, kind: str, name: str) -> None:
        kinds = {"Job": JOB, "Queue": QUEUE}
        uid = (self.find(kinds[kind], name) or {"metadata": {"uid": "gone"}})["metadata"]["uid"]
        target = {"apiVersion": kinds[kind].api_version, "kind": kind, "name": name, "uid": uid}
        metadata = {"generateName": f"{name}-", "namespace": NAMESPACED}
        await self.objects.create(COMMAND, {"metadata": metadata, "action": action, "target": target})

    async def queue(self, name: str, **spec: Any) -> None:
        await self.objects.create(QUEUE, {"metadata": {"name": name}, "spec": {"weight": 1, **spec}})
        await self.queue_state(name, "Open")

    async def queue_state(self, name: str, state: str) -> None:
        await self.until(lambda: ((self.find(QUEUE, name) or {}).get("status") or {}).get("state") == state)

    async def refusal(self, write: Awaitable[Any]) -> ApiError:
        with pytest.raises(ApiError) as raised:
            await write
        return raised.value


async def _running(settings: VolcanoSettings) -> AsyncIterator[Cluster]:
    cluster = Cluster()
    for name in ("default", NAMESPACED):
        await cluster.objects.create(NAMESPACE, {"metadata": {"name": name}})
    await create_first_queues(cluster.objects, cluster.clock)
    collector = asyncio.create_task(cluster.collector.run())
    cluster.start_controllers(settings)
    await cluster.queue_state("default", "Open")
    yield cluster
    await cluster.stop_controllers()
    collector.cancel()
    await asyncio.gather(collector, return_exceptions=True)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async for running in _running(VolcanoSettings()):
        yield running


@pytest.fixture
async def fixed_cluster() -> AsyncIterator[Cluster]:
    """Without Volcano's bug #4616."""
    async for running in _running(VolcanoSettings(loses_finished_counters=False)):
        yield running
