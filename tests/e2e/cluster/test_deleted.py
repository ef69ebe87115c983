"""Jobs and pods that somebody deletes by hand."""

from collections.abc import Awaitable, Callable

from app.cluster.kinds import JOB, POD
from tests.e2e.cluster.world import Team, World

MakeTeam = Callable[..., Awaitable[Team]]


async def test_a_job_deleted_by_hand_is_lost_and_leaves_nothing(world: World, team: MakeTeam) -> None:
    world.needs(2)
    losing = await team("losing", capability=2)
    job = await losing.submit("job", pods=2, seconds=3600)
    await losing.until_state(job, "running")
    shown = await losing.job(job)
    await world.kube.delete(JOB.object_path(shown["k8s_namespace"], shown["k8s_name"]))
    ended = await losing.until_state(job, "lost")
    assert (ended["reason"], ended["counts"]["running"]) == ("Deleted", 0)
    await losing.until_gone(job)
    again = await losing.submit("job", seconds=1)
    await losing.until_state(again, "succeeded")


async def test_a_pod_deleted_by_hand_is_made_again_and_the_job_succeeds(world: World, team: MakeTeam) -> None:
    world.needs(2)
    healing = await team("healing", capability=2)
    job = await healing.submit("job", pods=2, seconds=10)
    await healing.until(job, lambda read: read["counts"]["running"] == 2)
    pods = sorted(await healing.pods_there(job), key=lambda pod: str(pod["metadata"]["name"]))
    victim = pods[0]["metadata"]
    await world.kube.delete(POD.object_path(healing.name, victim["name"]), victim["uid"])

    async def made_again() -> bool:
        path = POD.object_path(healing.name, victim["name"])
        found = await world.kube.get(path)
        return found is not None and found["metadata"]["uid"] != victim["uid"]

    await healing.until_seen(job, made_again)
    ended = await healing.until_state(job, "succeeded")
    assert (ended["attempt"], ended["counts"]["succeeded"]) == (1, 2)
    named = [pod["name"] for pod in await healing.pods(job)]
    assert sorted(named) == sorted([pod["metadata"]["name"] for pod in pods] + [victim["name"]])
