"""The simulated cluster as one thing: API server, garbage collector, kubelets, nodes, Volcano."""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from app.simulator.clock import Clock
from app.simulator.collector import Collector
from app.simulator.events import expire_events
from app.simulator.faults import Faults
from app.simulator.journal import Journal
from app.simulator.kinds import Kind
from app.simulator.kubelet import Kubelet
from app.simulator.memory import MemoryObjects
from app.simulator.nodes import Nodes
from app.simulator.objects import Object, Objects
from app.simulator.registry import Registry
from app.simulator.rest.server import ApiServer
from app.simulator.seeds import plant_seeds
from app.simulator.store import Store
from app.simulator.volcano.admission import VolcanoAdmission
from app.simulator.volcano.run import VolcanoSettings, run_volcano
from app.simulator.volcano.scheduler.configuration_file import read_configuration

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SimulatorSettings:
    """What the cluster is made of.

    `port` 0 takes a free one. `speed` shortens all simulated durations. `token` must then come with every request, as a
    bearer token. `data_path` is a directory that keeps the objects across restarts. `volcano` False leaves Volcano's
    controllers, scheduler and webhooks out. `loses_finished_counters` False has a finished Job keep its counters, as
    a Volcano without volcano-sh/volcano#4616 would. `scheduler_config` is a configuration file of Volcano's scheduler;
    None stands for the one of its Helm chart.
    """

    nodes: int = 3
    gpus_per_node: int = 2
    port: int = 0
    host: str = "127.0.0.1"
    speed: float = 1.0
    gpu_resource: str = "nvidia.com/gpu"
    schedule_period_seconds: float = 1.0
    seed: int | None = None
    token: str | None = None
    data_path: Path | None = None
    volcano: bool = True
    loses_finished_counters: bool = True
    scheduler_config: Path | None = None


class SimulatedCluster:
    """An asynchronous context manager: the cluster runs inside the block."""

    def __init__(self, settings: SimulatorSettings | None = None) -> None:
        """Take settings.

        Raises:
            ConfigurationError: Volcano would refuse the scheduler's configuration.
        """
        self.settings = settings or SimulatorSettings()
        if self.settings.scheduler_config:
            read_configuration(self.settings.scheduler_config)
        self.clock = Clock(self.settings.speed)
        self._journal = Journal(self.settings.data_path) if self.settings.data_path else None
        self._registry = Registry(self._journal.open() if self._journal else Store())
        self.objects: Objects = MemoryObjects(self._registry)
        self._collector = Collector(self._registry)
        self.kubelet = Kubelet(self.objects, self.clock)
        self.nodes = Nodes(self.objects, self.kubelet, self.clock)
        self.server = ApiServer(
            self._registry, token=self.settings.token, host=self.settings.host, port=self.settings.port
        )
        self.faults: Faults = self.server.faults
        self.faults.nodes = self.nodes
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def url(self) -> str:
        """The address of the API server."""
        return self.server.url

    async def __aenter__(self) -> Self:
        await plant_seeds(self.objects)
        await self.nodes.register(self.settings.nodes, self.settings.gpus_per_node, self.settings.gpu_resource)
        if self.settings.volcano:
            self._registry.admission = VolcanoAdmission(self._read, self._select)
            settings = self.settings
            volcano = VolcanoSettings(
                settings.schedule_period_seconds,
                settings.seed,
                settings.loses_finished_counters,
                settings.scheduler_config,
            )
            self._run("volcano", run_volcano(self.objects, self.clock, volcano))
        self._run("garbage collector", self._collector.run())
        self._run("kubelet", self.kubelet.run())
        self._run("event expiry", expire_events(self.objects))
        try:
            await self.server.start()
        except OSError:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    @property
    def parts(self) -> tuple["asyncio.Task[None]", ...]:
        """What runs inside; none of them ends by itself unless something is wrong, and then nothing moves any more."""
        return tuple(self._tasks)

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig file for this cluster.

        kubectl sends no token over plain HTTP (client-go, `IsConfigTransportTLS`); kubernetes-asyncio does.
        """
        user = {"token": self.settings.token} if self.settings.token else {}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "pumice-simulated", "cluster": {"server": self.url}}],
            "users": [{"name": "pumice", "user": user}],
            "contexts": [
                {"name": "pumice", "context": {"cluster": "pumice-simulated", "user": "pumice", "namespace": "default"}}
            ],
            "current-context": "pumice",
        }
        path.write_text(yaml.safe_dump(config, sort_keys=False))
        path.chmod(0o600)
        return path

    def _run(self, name: str, part: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(part, name=name)
        task.add_done_callback(_report)
        self._tasks.append(task)

    async def _stop(self) -> None:
        await self.server.stop()
        await self.nodes.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._journal is not None:
            self._journal.close()

    def _read(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        record = self._registry.store.get(kind, (namespace or "", name))
        return record.object if record else None

    def _select(self, kind: Kind) -> list[Object]:
        return [record.object for record in self._registry.store.records(kind)]


def _report(task: asyncio.Task[None]) -> None:
    """A part that stops by itself must be heard of: nothing would move any more."""
    if not task.cancelled() and task.exception() is not None:
        _logger.error("the %s of the simulated cluster has stopped", task.get_name(), exc_info=task.exception())
