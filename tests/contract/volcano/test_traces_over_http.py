"""Volcano's part repeats the recordings as well when every read and write of it crosses a network.

Only the Jobs and the answers are compared here: which texts and phases a PodGroup gets depends on the session that
comes between two requests, and requests take their time.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.remote.connection import open_connection
from app.simulator.remote.http_objects import HttpObjects
from app.simulator.volcano.admission import VolcanoAdmission
from app.simulator.volcano.run import VolcanoSettings, run_volcano
from tests.contract.volcano import replay
from tests.contract.volcano.facts import reduce
from tests.contract.volcano.test_traces import TRACES, differences

SPEED = 2.5
"""Slow enough that a session does not come between a Job's end and the kill that follows it."""

SCENARIOS = ("02-gang-of-four-completes", "09-abort-and-resume", "13-finalizer-holds-job-through-ttl-and-delete")


class SplitCluster(SimulatedCluster):
    """An API server with nodes and webhooks; Volcano's controllers and scheduler reach it over HTTP only."""

    def __init__(self, settings: SimulatorSettings) -> None:
        super().__init__(replace(settings, volcano=False))
        self._volcano = VolcanoSettings(settings.schedule_period_seconds, settings.seed)
        self._stack = AsyncExitStack()
        self._remote: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._registry.admission = VolcanoAdmission(self._read, self._select)
        kubeconfig = self.kubeconfig(self.settings.scheduler_config.parent / "kubeconfig")
        connection = await self._stack.enter_async_context(open_connection(str(kubeconfig)))
        self._remote = asyncio.create_task(run_volcano(HttpObjects(connection), self.clock, self._volcano))
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._remote is not None
        self._remote.cancel()
        await asyncio.gather(self._remote, return_exceptions=True)
        await self._stack.aclose()
        await super().__aexit__(*error)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_volcano_over_http_repeats_the_recorded_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "SimulatedCluster", SplitCluster)
    monkeypatch.setattr(replay, "SPEED", SPEED)
    monkeypatch.setattr(replay, "WAIT_SECONDS", 60.0)
    scenario = json.loads((TRACES / f"{name}.json").read_text())
    async with replay.Replay.on_fresh_cluster(name, scenario, tmp_path) as repeated:
        await repeated.run()
    found = differences(scenario["facts"], json.loads(json.dumps(reduce(repeated.records))))
    assert [line for line in found if "/jobs/" in line or "/answers" in line] == []
