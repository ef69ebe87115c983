"""Makes the requests of a scenario on a simulated cluster, over HTTP, and records what the cluster shows."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import httpx

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.volcano.scheduler.configuration import DEFAULT_TEXT
from tests.contract.volcano.facts import Facts, made_queues
from tests.contract.volcano.left_over import clear_away, is_left_over, leave_behind
from tests.contract.volcano.surroundings import CONFIGURATIONS, LEFT_OVER
from tests.contract.volcano.worlds import Record, World, change, empty_world, only, reached, without_pod_phases

SPEED = 20.0
SLOWER = {"06": 3.0, "08": 8.0, "16": 3.0, "20": 8.0, "21": 8.0, "25": 8.0, "26": 8.0, "27": 1.8, "28": 8.0}
"""In 06, 16 and 27 stamps must differ, which have whole seconds; others make a request while a pod starts, and in 25-28
evicted pods must be gone, and made anew, before the next session."""
SESSION_SECONDS = 1.0
LONGER_SESSIONS = {"25": 1.5, "26": 1.5, "27": 1.5, "28": 1.5}
"""The grace period of evicted pods is one second; in the recordings they were gone a little before the next session."""

WAIT_SECONDS = 15.0
POLL_SECONDS = 0.01
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
JOBS = "/apis/batch.volcano.sh/v1alpha1"
WATCHED = {
    "Job": f"{JOBS}/jobs",
    "PodGroup": "/apis/scheduling.volcano.sh/v1beta1/podgroups",
    "Pod": "/api/v1/pods",
    "Event": "/api/v1/events",
    "Queue": QUEUES,
    "Command": "/apis/bus.volcano.sh/v1alpha1/commands",
}
_QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
RECORDERS_QUEUES: tuple[dict[str, Any], ...] = (
    {**_QUEUE, "metadata": {"name": "high-priority"}, "spec": {"weight": 2, "capability": {"nvidia.com/gpu": 4}}},
    {**_QUEUE, "metadata": {"name": "low-priority"}, "spec": {"weight": 1, "capability": {"nvidia.com/gpu": 2}}},
)
CANARY = "canary"


class NotReachedError(AssertionError):
    """The cluster did not come to the state in which the recorder made its next request."""


class Replay:
    """One scenario on one fresh cluster."""

    def __init__(self, number: str, cluster: SimulatedCluster, client: httpx.AsyncClient, scenario: Facts) -> None:
        self._number = number
        self._cluster = cluster
        self._client = client
        self._scenario = scenario
        self._started = time.monotonic()
        self._canaries = 0
        self._changed = asyncio.Event()
        self._world = empty_world()
        self._read = 0
        self.records: list[Record] = []

    @classmethod
    @asynccontextmanager
    async def on_fresh_cluster(cls, name: str, scenario: Facts, directory: Path) -> AsyncIterator[Self]:
        """Start a cluster like the recorder's, and watch it."""
        number = name[:2]
        configuration = directory / "volcano-scheduler.conf"
        configuration.write_text(CONFIGURATIONS.get(number, DEFAULT_TEXT))
        settings = SimulatorSettings(
            nodes=3,
            gpus_per_node=2,
            speed=SLOWER.get(number, SPEED),
            schedule_period_seconds=LONGER_SESSIONS.get(number, SESSION_SECONDS),
            seed=1,
            scheduler_config=configuration,
        )
        async with (
            SimulatedCluster(settings) as cluster,
            httpx.AsyncClient(base_url=cluster.url, timeout=httpx.Timeout(10, read=None)) as client,
        ):
            replay = cls(number, cluster, client, scenario)
            await replay._prepare()
            if number in LEFT_OVER:
                await leave_behind(cluster.objects, LEFT_OVER[number].jobs)
            versions = {path: await replay._version(path) for path in WATCHED.values()}
            watches = [asyncio.create_task(replay._watch(kind, path, versions[path])) for kind, path in WATCHED.items()]
            try:
                yield replay
            finally:
                for watch in watches:
                    watch.cancel()
                await asyncio.gather(*watches, return_exceptions=True)

    async def run(self) -> None:
        """Make every request in the state it was recorded in, then wait for the last state."""
        made: set[str] = set()
        for step in self._scenario["steps"]:
            if "world" in step:
                await self._reach(step["world"], made, pod_phases=True)
            if step.get("settle"):
                await self._settle()
            if step.get("after_session"):
                await self._all_seen_by_scheduler()
            if step.get("left_over_goes"):
                await clear_away(self._cluster.objects, LEFT_OVER[self._number].grace_seconds)
                continue
            await self._request(step["request"])
            made = made_queues(self.records)
        end = self._scenario["end"]
        await self._reach(end["world"], made, pod_phases=False)
        if end["settle"]:
            await self._settle()

    async def _prepare(self) -> None:
        for request in self._scenario.get("before", ()):
            await self._create(request["path"], request["body"])
        for name in self._scenario["namespaces"]:
            await self._create("/api/v1/namespaces", {"metadata": {"name": name}})
        for queue in RECORDERS_QUEUES:
            await self._create(QUEUES, queue)
        names = ["default", *(queue["metadata"]["name"] for queue in RECORDERS_QUEUES)]
        async with asyncio.timeout(WAIT_SECONDS):
            while not all([await self._is_open(name) for name in names]):  # noqa: ASYNC110 - over HTTP
                await asyncio.sleep(POLL_SECONDS)

    async def _is_open(self, name: str) -> bool:
        response = await self._client.get(f"{QUEUES}/{name}")
        status = response.json().get("status", {})
        return status.get("state") == "Open" and "allocated" in status

    async def _create(self, path: str, body: Record) -> None:
        (await self._client.post(path, json=body)).raise_for_status()

    async def _version(self, path: str) -> str:
        return str((await self._client.get(path)).json()["metadata"]["resourceVersion"])

    async def _watch(self, kind: str, path: str, version: str) -> None:
        query = {"watch": "1", "resourceVersion": version}
        async with self._client.stream("GET", path, params=query) as response:
            async for line in response.aiter_lines():
                event = json.loads(line)
                if not _of_canary(event["object"]) and not is_left_over(event["object"]):
                    self._note({"watch": kind, "type": event["type"], "object": event["object"]})

    def _note(self, record: Record) -> None:
        self.records.append({"t_ms": int((time.monotonic() - self._started) * 1000), **record})
        self._changed.set()

    async def _reach(self, world: World, made: set[str], *, pod_phases: bool) -> None:
        """Wait until the watches show a world, however briefly, or have done so since the last request."""
        now = only(self._world, made)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while not reached(now if pod_phases else without_pod_phases(now), world):
                    await self._next()
                    now = only(self._world, made)
        except TimeoutError:
            raise NotReachedError(f"After {WAIT_SECONDS} s the cluster shows\n{now}\ninstead of\n{world}") from None

    async def _next(self) -> None:
        """Go on by one record."""
        while self._read == len(self.records):
            self._changed.clear()
            await self._changed.wait()
        change(self._world, self.records[self._read])
        self._read += 1

    async def _all_seen_by_scheduler(self) -> None:
        """Wait until every Job's PodGroup has been let in and bound, or been turned away."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not all(self._pod_group_phase(name) in ("Pending", "Running") for name in self._world["Job"]):
                await self._next()

    def _pod_group_phase(self, job: str) -> str | None:
        phase: str | None = self._world["PodGroup"].get(job, [None])[0]
        return phase

    async def _settle(self) -> None:
        """Wait until the garbage collector and two sessions of the scheduler have gone by.

        Each round makes an object without an owner, which the collector removes, and a Queue, to which the Queue
        controller gives a state and the scheduler an amount.
        """
        for _ in range(2):
            self._canaries += 1
            name = f"{CANARY}-{self._canaries}"
            owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "nobody"}
            orphan = {"metadata": {"name": name, "ownerReferences": [owner]}}
            await self._create("/api/v1/namespaces/default/configmaps", orphan)
            await self._create(QUEUES, {**_QUEUE, "metadata": {"name": name}, "spec": {"weight": 1}})
            async with asyncio.timeout(WAIT_SECONDS):
                while not await self._passed(name):  # noqa: ASYNC110 - over HTTP
                    await asyncio.sleep(POLL_SECONDS)
            (await self._client.delete(f"{QUEUES}/{name}")).raise_for_status()

    async def _passed(self, name: str) -> bool:
        orphan = await self._client.get(f"/api/v1/namespaces/default/configmaps/{name}")
        queue = await self._client.get(f"{QUEUES}/{name}")
        return orphan.status_code == 404 and "allocated" in queue.json().get("status", {})

    async def _request(self, request: Record) -> None:
        request = await self._with_uids(request)
        content = None if request["body"] is None else json.dumps(request["body"])
        patch = "application/json-patch+json" if isinstance(request["body"], list) else "application/merge-patch+json"
        kind = patch if request["method"] == "PATCH" else "application/json"
        response = await self._client.request(
            request["method"], request["path"], content=content, headers={"content-type": kind}
        )
        record: dict[str, Any] = {"request": request, "status": response.status_code}
        if response.is_error:
            record["response"] = response.json()
        self._note(record)
        if response.status_code == 201 and request["path"].endswith(("/jobs", "/queues")):
            await self._seen(response.json()["metadata"]["uid"])

    async def _seen(self, uid: str) -> None:
        """Wait until the watch shows what was made."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not any("watch" in r and r["object"]["metadata"]["uid"] == uid for r in self.records[: self._read]):
                await self._next()

    async def _with_uids(self, request: Record) -> Record:
        text = json.dumps(request)
        for name in [o["object"]["metadata"]["name"] for o in self.records if o.get("watch") in ("Job", "Queue")]:
            for kind, path in (
                ("Queue", f"{QUEUES}/{name}"),
                ("Job", f"{JOBS}/namespaces/{self._namespace}/jobs/{name}"),
            ):
                token = f'$uid/{kind}/{name}"'
                if token in text:
                    found = await self._client.get(path)
                    text = text.replace(token, f'{found.json()["metadata"]["uid"]}"')
        filled: Record = json.loads(text)
        return filled

    @property
    def _namespace(self) -> str:
        return str(self._scenario["namespaces"][0])


def _of_canary(obj: Record) -> bool:
    involved = obj.get("involvedObject") or {}
    return any(str(name).startswith(CANARY) for name in (obj["metadata"]["name"], involved.get("name", "")))
