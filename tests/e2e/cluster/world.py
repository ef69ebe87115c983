"""What a test works with: the cluster, the service, and teams with queues of their own."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.cluster.client import Object
from app.cluster.errors import ClusterError
from app.cluster.kinds import COMMAND, JOB, POD, POD_GROUP, QUEUE
from app.cluster.names import JOB_ID_LABEL
from tests.e2e.cluster import bodies
from tests.e2e.cluster.kube import Kube
from tests.e2e.cluster.service import Service
from tests.e2e.cluster.shape import Shape
from tests.e2e.cluster.story import tell
from tests.e2e.cluster.witness import Witness

LIMIT_SECONDS = 100.0
"""Of every wait: Volcano's sessions take a second each, a pod may hold its grace period of 30 s, an image be pulled."""

PAUSE_SECONDS = 0.2
ENDED = frozenset({"succeeded", "failed", "cancelled", "lost"})
_OVER = frozenset({"Succeeded", "Failed"})


@dataclass
class World:
    """The parts that all tests share."""

    run: str
    kube: Kube
    shape: Shape
    image: str
    service: Service
    witness: Witness
    priorities: dict[str, str | None] = field(default_factory=dict)

    def needs(self, units: int) -> None:
        """Skip the test on a cluster that has too little room."""
        if self.shape.units < units:
            pytest.skip(f"needs {units} x {self.shape.amount(1)} {self.shape.resource}; free are {self.shape.units}")

    async def until(self, condition: Callable[[], Awaitable[Any]], what: Callable[[], Awaitable[str]]) -> Any:
        """Wait until a condition gives something true and return that; else fail with what is told then."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            try:
                found = await condition()
            except ClusterError as error:  # a busy API server is no answer; a wait that runs out says so
                found, trouble = None, error.message
            else:
                trouble = ""
            if found:
                return found
            if time.monotonic() > deadline:
                pytest.fail(f"not within {LIMIT_SECONDS:g} s. {trouble}\n{await what()}", pytrace=True)
            await asyncio.sleep(PAUSE_SECONDS)

    async def make_team(self, name: str, *, capability: int, weight: int = 1) -> "Team":
        """A team with a namespace and a queue of its own, and a quota that stands in nobody's way."""
        full = f"{self.run}-{name}"
        queue = {"name": full, "weight": weight, "capability": {self.shape.resource: self.shape.amount(capability)}}
        await self.service.made("POST", "/v1/queues", queue)
        team = {"name": full, "namespace": full, "queues": [full], "default_queue": full}
        await self.service.made("POST", "/v1/teams", team)
        limits = {self.shape.resource: {"outstanding": None}} if "/" in self.shape.resource else {}
        await self.service.made("PUT", f"/v1/teams/{full}/quota", {"limits": limits})
        return Team(self, full)


class Team:
    """A team; its namespace and its queue have its name."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.jobs: list[str] = []

    def body(self, name: str, **life: Any) -> Any:
        """The body of a job."""
        return bodies.job(self.world.shape, self.world.image, name, **life)

    async def submit(self, name: str, **life: Any) -> str:
        """Submit a job and return its id."""
        made = await self.world.service.made("POST", f"/v1/teams/{self.name}/jobs", self.body(name, **life))
        self.jobs.append(made["id"])
        return str(made["id"])

    async def refused(self, name: str, **life: Any) -> Any:
        """Submit a job that must be refused; returns status, type and the whole problem."""
        answer = await self.world.service.call("POST", f"/v1/teams/{self.name}/jobs", self.body(name, **life))
        problem = answer.json()
        assert not answer.is_success, f"accepted: {problem}"
        return answer.status_code, problem["type"].rpartition("/")[2], problem

    async def job(self, job_id: str) -> Any:
        """A job as the service shows it."""
        return await self.world.service.get(f"/v1/jobs/{job_id}")

    async def pods(self, job_id: str) -> list[Any]:
        """All pods that a job ever had, as the service shows them."""
        return list((await self.world.service.get(f"/v1/jobs/{job_id}/pods?limit=500"))["items"])

    async def history(self, job_id: str) -> list[str]:
        """The states that a job went through."""
        items = (await self.world.service.get(f"/v1/jobs/{job_id}/events?limit=500"))["items"]
        states = [item["state"] for item in items]
        return [state for place, state in enumerate(states) if place == 0 or states[place - 1] != state]

    async def until(self, job_id: str, holds: Callable[[Any], Any]) -> Any:
        """Wait until something holds of a job, and return the job; fails at once when it has ended otherwise."""

        async def look() -> Any:
            job = await self.job(job_id)
            if not holds(job) and job["state"] in ENDED:
                pytest.fail(f"it ended as {job['state']}\n{await self._story(job_id)}")
            return job if holds(job) else None

        return await self.world.until(look, lambda: self._story(job_id))

    async def until_state(self, job_id: str, *states: str) -> Any:
        """Wait for a state."""
        return await self.until(job_id, lambda job: job["state"] in states)

    async def waits(self, job_id: str) -> Any:
        """Wait until a job waits in Volcano and says why."""
        return await self.until(job_id, lambda job: job["state"] == "pending" and job["reason"] and job["message"])

    async def cancel(self, job_id: str) -> None:
        """Ask for a job to be cancelled."""
        await self.world.service.made("POST", f"/v1/jobs/{job_id}/cancel", {"reason": "for the test"})

    async def until_seen(self, job_id: str, look: Callable[[], Awaitable[Any]]) -> Any:
        """Wait for something in the cluster; a failure tells the job's story."""
        return await self.world.until(look, lambda: self._story(job_id))

    async def _story(self, job_id: str) -> str:
        return await tell(self.world.kube, self.world.service, job_id)

    async def volcano_job(self, job_id: str) -> Object | None:
        """The Volcano Job of a job."""
        read = await self.job(job_id)
        return await self.world.kube.get(JOB.object_path(read["k8s_namespace"], read["k8s_name"]))

    async def pods_there(self, job_id: str) -> list[Object]:
        """The pods of a job that are in the cluster."""
        return await self.world.kube.list(POD.namespace_path(self.name), f"{JOB_ID_LABEL}={job_id}")

    async def pod_group(self, job_id: str) -> Object | None:
        """The PodGroup of a job."""
        found = await self.world.kube.list(POD_GROUP.namespace_path(self.name), f"{JOB_ID_LABEL}={job_id}")
        return found[0] if found else None

    async def until_gone(self, job_id: str) -> None:
        """Wait until neither Volcano Job nor PodGroup nor living pod is left of a job."""

        async def gone() -> bool:
            pods = [pod for pod in await self.pods_there(job_id) if pod["status"].get("phase") not in _OVER]
            return not pods and await self.volcano_job(job_id) is None and await self.pod_group(job_id) is None

        await self.until_seen(job_id, gone)

    async def queue(self) -> Any:
        """The team's queue as the service shows it."""
        return await self.world.service.get(f"/v1/queues/{self.name}")

    async def until_queue(self, holds: Callable[[Any], Any]) -> Any:
        """Wait until something holds of the queue as the service has observed it."""

        async def look() -> Any:
            queue = await self.queue()
            return queue if queue["observed"] is not None and holds(queue["observed"]) else None

        async def story() -> str:
            return f"the queue reads {await self.queue()}"

        return await self.world.until(look, story)

    async def until_allocated(self, units: int) -> None:
        """Wait until Volcano says that the queue holds so many units."""
        await self.until_queue(lambda seen: self.world.shape.units_in(seen["allocated"]) == units)

    async def command_queue(self, action: str) -> None:
        """Close or open the queue as `vcctl queue operate` does."""
        queue = await self.world.kube.get(QUEUE.object_path(None, self.name))
        assert queue is not None
        uid = queue["metadata"]["uid"]
        target = {"apiVersion": QUEUE.api_version, "kind": QUEUE.name, "name": self.name, "uid": uid}
        command = {
            "apiVersion": COMMAND.api_version,
            "kind": COMMAND.name,
            "metadata": {"generateName": f"{action.lower()}-", "namespace": self.name},
            "action": action,
            "target": target,
        }
        await self.world.kube.create(COMMAND.namespace_path(self.name), command)

    async def clear(self) -> None:
        """Cancel what has not ended and wait until no pod holds anything, so that the next test finds room."""
        for job_id in self.jobs:
            if (await self.job(job_id))["state"] not in ENDED:
                await self.world.service.call("POST", f"/v1/jobs/{job_id}/cancel", {})
        for job_id in self.jobs:
            await self.until_state(job_id, *ENDED)

        async def free() -> bool:
            pods = await self.world.kube.list(POD.namespace_path(self.name))
            return all(pod["status"].get("phase") in _OVER for pod in pods)

        if self.jobs:
            await self.until_seen(self.jobs[-1], free)
