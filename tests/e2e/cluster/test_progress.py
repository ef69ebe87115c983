"""Workers that say how far they are, on their pods and over HTTP."""

from collections.abc import Awaitable, Callable
from typing import Any

from app.cluster.kinds import POD
from tests.e2e.cluster.bodies import LONG
from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_a_job_shows_how_far_its_workers_say_that_they_are(world: World, team: MakeTeam) -> None:
    world.needs(2)
    counting = await team("counting", capability=2)
    job = await counting.submit("counting", pods=2, seconds=LONG)
    await counting.until(job, lambda read: read["counts"]["running"] == 2)
    await _annotate(counting, job, 0, "3/10")
    said = {"task": "worker", "index": 1, "done": 4, "total": 30}
    assert await world.service.made("PUT", f"/v1/jobs/{job}/progress", said) == {"done": 4, "total": 30}
    await counting.until(job, lambda read: _is(read, 7, 40))
    await _annotate(counting, job, 0, "more than half")  # no progress, so the last one stays
    await world.service.made("PUT", f"/v1/jobs/{job}/progress", {**said, "done": 21})
    await counting.until(job, lambda read: _is(read, 24, 40))
    shown = {pod["index"]: pod["progress"] for pod in await counting.pods(job)}
    assert shown == {0: {"done": 3, "total": 10}, 1: {"done": 21, "total": 30}}
    events = (await world.service.get(f"/v1/jobs/{job}/events?limit=500"))["items"]
    assert [event["message"] for event in events if event["type"] == "progress"][-1] == "24 of 40 done (60 %)."
    await counting.cancel(job)
    ended = await counting.until_state(job, "cancelled")
    assert _is(ended, 24, 40)


def _is(job: Any, done: int, total: int) -> bool:
    progress = job["progress"] or {}
    return (progress.get("done"), progress.get("total")) == (done, total)


async def _annotate(team: Team, job: str, index: int, text: str) -> None:
    pods = {pod["metadata"]["labels"]["volcano.sh/task-index"]: pod for pod in await team.pods_there(job)}
    path = POD.object_path(team.name, pods[str(index)]["metadata"]["name"])
    await team.world.kube.merge(path, {"metadata": {"annotations": {"pumice.dev/progress": text}}})
