"""The faults of a soak, one method each; each is over when its method returns."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from app import failpoints
from app.cluster.errors import ClusterError
from app.cluster.kinds import JOB, NODE, POD
from app.cluster.names import JOB_ID_LABEL
from tests.crash.clearing import bring_back
from tests.crash.lines import TcpLine
from tests.crash.own_postgres import OwnPostgres
from tests.crash.soak_load import Load
from tests.crash.soak_parts import OF_CONTROLLERS, Fleet

_FAILPOINT_PATIENCE_SECONDS = 15.0
_SKEW_SECONDS = 3 * 3600.0
Fault = Callable[[], Awaitable[None]]


class Faults:
    """What can be done to the service and what it stands on."""

    def __init__(self, fleet: Fleet, postgres: OwnPostgres, line: TcpLine, load: Load, chance: random.Random) -> None:
        self._fleet = fleet
        self._world: Any = fleet.world
        self._cluster: Any = fleet.world.cluster
        self._postgres = postgres
        self._line = line
        self._load = load
        self._chance = chance
        self.counts: Counter[str] = Counter()

    def part_of(self, name: str) -> str:
        """What a fault damages: two that damage the same are never under way together."""
        return next(part for part, faults in self._by_part().items() if name in faults)

    def names(self) -> list[str]:
        """Every fault by its name in the table."""
        return sorted(name for faults in self._by_part().values() for name in faults)

    def _by_part(self) -> dict[str, dict[str, Fault]]:
        return {
            "API": {
                "kill -9 of an API": lambda: self._fleet.replaced("api 2"),
                "kill -9 of an API at a failpoint": self._api_at_failpoint,
            },
            "controller": {
                "kill -9 of a controller": lambda: self._fleet.replaced("controller 2"),
                "kill -9 of a controller at a failpoint": self._controller_at_failpoint,
                "SIGSTOP of a controller": self._freeze_controller,
                "clock of a controller off by 3 h": self._skew,
            },
            "Postgres": {
                "kill -9 of Postgres": lambda: self._kill_postgres(0.0),
                "Postgres away": lambda: self._kill_postgres(self._chance.uniform(3, 10)),
            },
            "API server": {
                "kill -9 of the API server": lambda: self._kill_api_server(compacted=False),
                "kill -9 of the API server, compaction": lambda: self._kill_api_server(compacted=True),
                "SIGSTOP of the API server": self._freeze_api_server,
                "compaction": self._compact,
                "Jobs deleted": self._delete_jobs,
                "Pods deleted": self._delete_pods,
                "Node deleted": self._delete_node,
            },
            "connections": {"connections silent": self._silence, "connections cut": self._cut},
        }

    async def carry_out(self, name: str) -> None:
        await self._by_part()[self.part_of(name)][name]()
        self.counts[name] += 1

    async def heal(self) -> None:
        """Whatever a fault that failed in the middle has left."""
        self._cluster.thaw()
        self._line.speak()
        for part in self._fleet.running.values():
            if part.alive:
                part.thaw()

    async def _api_at_failpoint(self) -> None:
        name = self._chance.choice([failpoints.ACCEPT_BEFORE_COMMIT, failpoints.ACCEPT_COMMITTED])
        await self._fleet.dies_at("api 2", name, _FAILPOINT_PATIENCE_SECONDS)

    async def _controller_at_failpoint(self) -> None:
        # a standby reaches none: the other one has to sleep until this one leads and dies of it
        first = self._fleet.running["controller 1"]
        first.freeze()
        try:
            await self._fleet.dies_at("controller 2", self._chance.choice(OF_CONTROLLERS), _FAILPOINT_PATIENCE_SECONDS)
        finally:
            first.thaw()

    async def _freeze_controller(self) -> None:
        part = self._fleet.running[self._chance.choice(["controller 1", "controller 2"])]
        part.freeze()
        await asyncio.sleep(self._chance.uniform(3, 12))
        part.thaw()

    async def _skew(self) -> None:
        await self._fleet.replaced("controller 2", skew_seconds=self._chance.choice([-1, 1]) * _SKEW_SECONDS)
        first = self._fleet.running["controller 1"]
        first.freeze()
        await asyncio.sleep(self._chance.uniform(8, 15))
        first.thaw()

    async def _kill_postgres(self, away_seconds: float) -> None:
        await asyncio.to_thread(self._postgres.kill)
        await asyncio.sleep(away_seconds)
        await asyncio.to_thread(self._postgres.start)

    async def _kill_api_server(self, *, compacted: bool) -> None:
        await asyncio.to_thread(self._cluster.kill)
        await asyncio.sleep(self._chance.uniform(0, 8))
        if compacted:
            await asyncio.to_thread(self._cluster.compact)
        await asyncio.to_thread(self._cluster.start)

    async def _freeze_api_server(self) -> None:
        self._cluster.freeze()
        await asyncio.sleep(self._chance.choice([3, 10, 20, 40, 120]))
        self._cluster.thaw()

    async def _compact(self) -> None:
        await asyncio.to_thread(self._cluster.compact)

    async def _silence(self) -> None:
        self._line.forget()

    async def _cut(self) -> None:
        await self._line.cut()
        await asyncio.sleep(self._chance.uniform(0, 8))
        await self._line.start()

    async def _delete_jobs(self) -> None:
        for item in await self._some(JOB, 2):
            self._load.allow([_id_of(item)], "lost")
            await self._delete(JOB.object_path(self._world.namespace, item["metadata"]["name"]))

    async def _delete_pods(self) -> None:
        for item in await self._some(POD, 3):
            self._load.allow([_id_of(item)], "failed", "succeeded")
            await self._delete(POD.object_path(self._world.namespace, item["metadata"]["name"]))

    async def _delete_node(self) -> None:
        """Delete a node and its pods, as a cloud does with a broken machine, and make it again."""
        nodes = (await self._world.client.request("GET", NODE.collection_path))["items"]
        node = self._chance.choice(nodes)
        name = node["metadata"]["name"]
        await self._delete(NODE.object_path(None, name))
        for pod in await self._some(POD, 100):
            if pod["spec"].get("nodeName") == name:
                self._load.allow([_id_of(pod)], "failed", "succeeded")
                await self._delete(POD.object_path(self._world.namespace, pod["metadata"]["name"]), force=True)
        await asyncio.sleep(self._chance.uniform(1, 5))
        await bring_back(self._world.client, node)

    async def _some(self, kind: Any, number: int) -> list[dict[str, Any]]:
        items = (await self._world.client.request("GET", kind.namespace_path(self._world.namespace)))["items"]
        ours = [item for item in items if JOB_ID_LABEL in item["metadata"].get("labels", {})]
        return self._chance.sample(ours, min(number, len(ours)))

    async def _delete(self, path: str, *, force: bool = False) -> None:
        with contextlib.suppress(ClusterError):
            query = {"gracePeriodSeconds": 0} if force else {}
            await self._world.client.request("DELETE", path, query=query)


def _id_of(item: dict[str, Any]) -> UUID:
    return UUID(item["metadata"]["labels"][JOB_ID_LABEL])
