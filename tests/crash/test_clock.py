"""A controller whose clock is wrong by hours: leases, retention and times are Postgres' own, so nothing changes."""

import asyncio
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from app.db import now
from app.jobs import cancellation
from app.jobs.transitions import job_events, jobs
from tests.crash.clusters import FOR_EVER, ROOT
from tests.crash.processes import Service
from tests.crash.verdict import Trial

pytestmark = pytest.mark.timeout(600)

MakeTrial = Callable[[str, str], Trial]
HOURS = 3600.0
SKEW = Path(__file__).parent / "skew"


@pytest.mark.parametrize("hours", [3.0, -3.0])
async def test_a_controller_with_a_wrong_clock_changes_nothing(
    service: Service, trial: MakeTrial, hours: float
) -> None:
    made, world = (
        trial("clock of one controller", f"{hours:+.0f} h, leading, beside one with a right clock"),
        service.world,
    )
    wrong = await service.controller(**_shifted(hours))
    await service.leader_first([wrong])
    other = await service.controller()
    await service.api()
    began = await _moment(world)
    bystander = await service.submit("bystander", FOR_EVER)
    doomed = await service.submit("doomed", FOR_EVER)
    ending = await service.submit("ending", 1, replicas=2)
    for job_id in (bystander, doomed, ending):
        assert job_id is not None
    await world.until_state(doomed, "running")
    await service.cancel(doomed)
    ends = {bystander: {"running"}, doomed: {"cancelled"}, ending: {"succeeded"}}
    if world.cluster.can_refuse:
        ends[await _refused(service)] = {"failed"}
    await made.holds(ends)
    assert await service.leads(wrong)
    await _times_lie_between(world, began, await _moment(world))
    assert await _ages(service, wrong) < HOURS
    await wrong.kill()
    later = await service.submit("later", 1)
    assert later is not None
    await made.holds(ends | {later: {"succeeded"}})
    assert await service.leads(other)


async def _refused(service: Service) -> Any:
    """A job whose end is written by the controller alone: the cluster refuses it, and no pod tells a time."""
    refusal = {"effect": "answer", "method": "POST", "plural": "jobs", "status": 400, "reason": "BadRequest"}
    fault = refusal | {"namespace": service.world.namespace}
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(f"{service.world.cluster.url}/simulator/faults", json=fault)
    assert answer.is_success, answer.text
    return await service.submit("refused", 1)


def _shifted(hours: float) -> dict[str, str]:
    return {"PYTHONPATH": f"{SKEW}:{ROOT}", "CRASH_TEST_SKEW_SECONDS": str(hours * HOURS)}


async def _moment(world: Any) -> Any:
    async with world.sessions() as session:
        return (await session.execute(select(func.now()))).scalar_one()


async def _times_lie_between(world: Any, began: Any, ended: Any) -> None:
    """Every time that the service wrote lies within the test, by Postgres' clock."""
    told = [(f"event {row.type}", row.at) for row in await world.rows(job_events)]
    names = ("created_at", "released_at", "attempted_at", "submitted_at", "started_at", "ended_at", "recorded_at")
    for row in await world.rows(jobs):
        told += [(f"{row.name}.{name}", getattr(row, name)) for name in (*names, "cleaned_at") if getattr(row, name)]
    assert [(what, at) for what, at in told if not began <= at <= ended] == []


async def _ages(service: Service, controller: Any) -> float:
    """The greatest age of a watch that the controller shows, in seconds, without its sign."""
    probe = await service.printed(controller, "probe port")
    async with httpx.AsyncClient(trust_env=False) as http:
        lines = (await http.get(f"{probe}/metrics")).text.splitlines()
    return max(abs(float(each.rpartition(" ")[2])) for each in lines if each.startswith("pumice_watch_age_seconds{"))


async def test_a_controller_whose_clock_is_set_back_still_tells_when_the_cluster_is_away(
    service: Service, trial: MakeTrial
) -> None:
    made, cluster = trial("clock of the controller set back", "by 3 h while it leads"), service.world.cluster
    controller = await service.controller(**_shifted(-3.0), CRASH_TEST_SKEW_AT_SIGNAL="1")
    await service.api()
    bystander = await service.submit("bystander", FOR_EVER)
    assert bystander is not None
    await service.world.until_state(bystander, "running")
    controller.process.send_signal(signal.SIGUSR1)
    await asyncio.to_thread(cluster.kill)
    await service.world.until(lambda: _cluster_is(service, "unreachable"))
    await asyncio.to_thread(cluster.start)
    await made.over()
    await made.holds({bystander: {"running"}})


async def _cluster_is(service: Service, word: str) -> bool:
    answer = await service.ask("GET", "/readyz")
    return answer is not None and bool(answer.json()["controller"]["cluster"] == word)


async def test_a_cancel_by_an_api_whose_clock_is_ahead_is_due_at_once(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that nobody holds, put back to be sent again: its due time is compared with Postgres' clock."""
    await world.make_team()
    job_id = await world.submit()
    async with world.sessions.begin() as session:
        await session.execute(update(jobs).values(state="submitting", released_at=func.now()))
    monkeypatch.setattr(cancellation, "now", lambda: now() + timedelta(seconds=3 * HOURS))
    await world.cancel(job_id)
    row = await world.row(job_id)
    assert row.state == "cancelling"
    assert row.due_at <= await _moment(world)
