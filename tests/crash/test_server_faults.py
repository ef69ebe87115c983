"""The API server killed, compacted, frozen, or behind a line that falls silent, under processes that are not told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest

from tests.crash.clusters import FOR_EVER, redirected
from tests.crash.lines import TcpLine
from tests.crash.processes import Service
from tests.crash.verdict import Trial
from tests.crash.world import World

pytestmark = pytest.mark.timeout(600)

MakeTrial = Callable[[str, str], Trial]
FROZEN_SECONDS = 120.0
FROZEN_SHORT_SECONDS = 8.0
SILENCE_LIMIT_SECONDS = 75.0
"""A controller gives up a watch that has been silent for so long (`InformerSettings.inactivity_seconds`)."""


async def _started(service: Service) -> tuple[UUID, UUID]:
    """An API, a controller, a job that will run for ever, and one that ends while the server is damaged."""
    await service.controller()
    await service.api()
    bystander = await service.submit("bystander", FOR_EVER)
    running = await service.submit("running", 6)
    assert bystander is not None
    assert running is not None
    for job_id in (bystander, running):
        # on a busy machine nobody may have looked while it ran
        await service.world.until_state(job_id, "running", "succeeded")
    return bystander, running


async def _submitted(service: Service, name: str, seconds: float) -> UUID:
    job_id = await service.submit(name, seconds)
    assert job_id is not None
    return job_id


@pytest.mark.parametrize("compacted", [False, True], ids=["at-once", "compacted"])
async def test_an_api_server_that_is_killed_and_comes_back_costs_no_job(
    service: Service, trial: MakeTrial, compacted: bool
) -> None:
    done = "old versions compacted, jobs submitted and cancelled meanwhile" if compacted else "started again at once"
    made, cluster = trial("kill -9 of the API server", done), service.world.cluster
    bystander, running = await _started(service)
    ends = {bystander: {"running"}, running: {"succeeded"}}
    await asyncio.to_thread(cluster.kill)
    if compacted:
        ends[await _submitted(service, "meanwhile", 1)] = {"succeeded"}
        doomed = await _submitted(service, "doomed", FOR_EVER)
        await service.cancel(doomed)
        ends[doomed] = {"cancelled"}
        await service.cancel(bystander)
        ends[bystander] = {"cancelled"}
        await asyncio.to_thread(cluster.compact)
    await asyncio.to_thread(cluster.start)
    await made.over()
    ends[await _submitted(service, "later", 1)] = {"succeeded"}
    await made.holds(ends)


async def test_old_versions_that_are_compacted_away_cost_no_job(service: Service, trial: MakeTrial) -> None:
    made, cluster = trial("compaction", "under open watches"), service.world.cluster
    bystander, running = await _started(service)
    await asyncio.to_thread(cluster.compact)
    await made.over()
    later = await _submitted(service, "later", 1)
    await made.holds({bystander: {"running"}, running: {"succeeded"}, later: {"succeeded"}})


async def test_an_api_server_that_freezes_and_thaws_costs_no_job(
    service: Service, trial: MakeTrial, long: bool
) -> None:
    seconds = FROZEN_SECONDS if long else FROZEN_SHORT_SECONDS
    made, cluster = (
        trial("SIGSTOP of the API server", f"for {seconds:.0f} s, jobs submitted and cancelled"),
        service.world.cluster,
    )
    bystander, running = await _started(service)
    cluster.freeze()
    try:
        thawed_at = asyncio.get_running_loop().time() + seconds
        waiting = [await _submitted(service, f"waiting-{index}", 1) for index in range(4)]
        await service.cancel(waiting[0])
        await service.cancel(bystander)
        await asyncio.sleep(thawed_at - asyncio.get_running_loop().time())
    finally:
        cluster.thaw()
    await made.over()
    ends = {job_id: {"succeeded"} for job_id in (running, *waiting[1:])}
    await made.holds(ends | {waiting[0]: {"cancelled"}, bystander: {"cancelled"}})


@pytest.fixture
async def line(outer_world: World) -> AsyncIterator[TcpLine]:
    address = urlsplit(outer_world.cluster.url)
    line = TcpLine(lambda: asyncio.open_connection(address.hostname, address.port))
    await line.start()
    yield line
    line.speak()
    await line.cut()


async def test_a_watch_that_falls_silent_without_closing_is_noticed(
    service: Service, trial: MakeTrial, line: TcpLine, tmp_path: Path, long: bool
) -> None:
    if not long:
        pytest.skip(f"it takes the {SILENCE_LIMIT_SECONDS:.0f} s after which a silent watch is given up: --long")
    made = trial("connections fall silent", "those that stand, none closed; new ones work")
    behind = redirected(service.world.cluster.admin_kubeconfig(), line.port, tmp_path / "behind-the-line")
    service.reach(behind)
    bystander, running = await _started(service)
    assert line.connections >= 5
    line.forget()
    await made.over()
    asked_at = asyncio.get_running_loop().time()
    later = await _submitted(service, "later", 1)
    await made.holds({bystander: {"running"}, running: {"succeeded"}, later: {"succeeded"}})
    assert asyncio.get_running_loop().time() - asked_at < SILENCE_LIMIT_SECONDS + 60
    assert await _relists(service) == {"Job": 1, "Node": 1, "Pod": 1, "PodGroup": 1, "Queue": 1}


async def _relists(service: Service) -> dict[str, int]:
    """How often the controller has listed each kind: a watch that went on over a new connection needs no list."""
    probe = await service.printed(service.parts[0], "probe port")
    async with httpx.AsyncClient(trust_env=False) as http:
        lines = (await http.get(f"{probe}/metrics")).text.splitlines()
    name = "pumice_watch_relists_total{"
    return {each.split('"')[1]: int(float(each.rpartition(" ")[2])) for each in lines if each.startswith(name)}
