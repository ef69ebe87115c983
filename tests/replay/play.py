"""Plays one recording to Pumice: each job is accepted and sent as ever, and the cluster then does what was recorded."""

from typing import Any
from uuid import UUID

from app.cluster.cache import key_of
from tests.replay.clock import PostgresClock
from tests.replay.cluster import Answer
from tests.replay.recording import Change, Recording, idle_queues
from tests.replay.world import World

Object = dict[str, Any]

_PRIORITIES = {"batch-low": "low", "batch-high": "high"}


class Play:
    """One recording, one Pumice.

    Attributes:
        jobs: ids of the rows by the recorded name.
        moment: which moment of the recording it is.
    """

    def __init__(self, recording: Recording, world: World, clock: PostgresClock) -> None:
        self.recording = recording
        self.world = world
        self._clock = clock
        self.jobs: dict[str, UUID] = {}
        self.moment = recording.began_at

    async def prepare(self) -> None:
        """Make the team and its queues, and those queues that stood before the recording began."""
        cluster, made = self.world.cluster, self.recording.made_queues
        standing = idle_queues()
        for queue in standing.values():
            cluster.put("Queue", "ADDED", queue)
        for name, queue in made.items():
            cluster.answers["queues", name] = Answer(201, queue)
        await self.set_clock(0)
        granted = {name: obj["spec"] for name, obj in {**standing, **made}.items() if name != "root"}
        namespaces = {change.object["metadata"]["namespace"] for change in self.recording.changes if _is_job(change)}
        await self.world.make_team(next(iter(namespaces), "tr"), granted)

    async def set_clock(self, ms: float) -> None:
        self.moment = self.recording.at(ms)
        await self._clock.set(self.moment)

    async def step(self, change: Change, at_ms: float | None = None) -> None:
        """Let one recorded thing happen, at its own moment or at a later one."""
        await self.set_clock(change.ms if at_ms is None else at_ms)
        cluster = self.world.cluster
        if change.type == "ADDED" and _is_job(change):
            await self._submit(change)
        elif change.type == "ADDED" and change.kind == "Queue":
            await self.world.until(lambda: cluster.find("Queue", None, change.name), f"the queue {change.name}")
            del cluster.answers["queues", change.name]
        else:
            cluster.play(change, self.moment)

    async def accept(self, job: Object) -> UUID:
        """Have Pumice accept a job like a recorded one, once Pumice does not take its queue for a closed one."""
        queue = job["spec"]["queue"]

        async def open_or_new() -> bool:
            observed = (await self.world.queue(queue)).observed
            return observed is None or observed["state"] in {"", "Open"}

        await self.world.until(open_or_new, f"queue {queue} to be open")
        self.jobs[job["metadata"]["name"]] = await self.world.submit(body_of(self.recording, job))
        return self.jobs[job["metadata"]["name"]]

    async def _submit(self, change: Change) -> None:
        metadata = change.object["metadata"]
        key = key_of(metadata["namespace"], change.name)
        self.world.cluster.answers["jobs", key] = Answer(201, change.object)
        if change.name not in self.jobs:
            await self.accept(change.object)

        async def sent() -> bool:
            return bool((await self.world.job(change.name)).state == "pending")

        await self.world.until(sent, f"job {change.name} to be sent")


def body_of(recording: Recording, job: Object) -> Object:
    """What a user would have submitted to Pumice to get a recorded Job."""
    spec = job["spec"]
    # the recorder's restarts were Volcano's; Pumice, asked for retries, would stop what Volcano starts again
    return {
        "name": job["metadata"]["name"],
        "queue": spec["queue"],
        "min_available": spec["minAvailable"],
        "priority": _PRIORITIES.get(spec.get("priorityClassName", ""), "normal"),
        "tasks": [_task_of(task) for task in spec["tasks"]],
    }


def _task_of(task: Object) -> Object:
    container = task["template"]["spec"]["containers"][0]
    limits = container["resources"]["limits"]
    return {
        "name": task["name"],
        "replicas": task["replicas"],
        "image": container["image"],
        "command": container["command"],
        "resources": {"cpu": limits["cpu"], "memory": limits["memory"], "gpus": int(limits["nvidia.com/gpu"])},
    }


def _is_job(change: Change) -> bool:
    return change.kind == "Job"
