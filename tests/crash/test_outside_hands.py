"""Jobs, Pods and Nodes deleted behind the service's back, with processes at work."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from app.cluster.errors import NotFound
from app.cluster.kinds import JOB, NODE, POD
from app.cluster.names import JOB_ID_LABEL
from tests.crash.clearing import bring_back
from tests.crash.clusters import FOR_EVER
from tests.crash.processes import Service
from tests.crash.verdict import Trial

pytestmark = pytest.mark.timeout(600)

MakeTrial = Callable[[str, str], Trial]


async def test_volcano_jobs_deleted_by_hand_are_lost_once(service: Service, trial: MakeTrial) -> None:
    made, world = trial("Jobs deleted by hand", "one of two that run, by an administrator"), service.world
    await service.controller()
    await service.api()
    bystander = await service.submit("bystander", FOR_EVER)
    victim = await service.submit("victim", FOR_EVER, replicas=2)
    assert bystander is not None
    assert victim is not None
    await world.until_state(bystander, "running")
    row = await world.until_state(victim, "running")
    await world.client.request("DELETE", JOB.object_path(row.k8s_namespace, row.k8s_name))
    await made.over()
    await made.holds({bystander: {"running"}, victim: {"lost"}})
    assert (await world.row(victim)).reason == "Deleted"


async def test_pods_deleted_by_hand_end_as_volcano_says(service: Service, trial: MakeTrial) -> None:
    made, world = trial("Pods deleted by hand", "all pods of one of two jobs"), service.world
    await service.controller()
    await service.api()
    bystander = await service.submit("bystander", FOR_EVER)
    victim = await service.submit("victim", FOR_EVER, replicas=2)
    assert bystander is not None
    assert victim is not None
    for job_id in (bystander, victim):
        await world.until_state(job_id, "running")
    pods = await _pods(world, str(victim))
    for pod in pods:
        await world.client.request("DELETE", _path(world, pod))
    await made.over()

    async def gone() -> bool:
        return not {each["metadata"]["uid"] for each in pods} & {
            each["metadata"]["uid"] for each in await _pods(world, str(victim))
        }

    await world.until(gone)
    await service.cancel(victim)
    await made.holds({bystander: {"running"}, victim: {"cancelled", "failed"}})
    recorded = {pod.uid: pod.gone_at for pod in await world.pods() if pod.job_id == victim}
    assert all(recorded[each["metadata"]["uid"]] is not None for each in pods)


async def test_a_node_that_is_deleted_under_a_job_leaves_the_books_right(service: Service, trial: MakeTrial) -> None:
    made, world = trial("Node deleted by hand", "with a running job's pod on it, and made again"), service.world
    await service.controller()
    await service.api()
    victim = await service.submit("victim", FOR_EVER)
    assert victim is not None
    await world.until_state(victim, "running")
    (pod,) = await _pods(world, str(victim))
    path = NODE.object_path(None, pod["spec"]["nodeName"])
    node = await world.client.request("GET", path)
    await world.client.request("DELETE", path)
    try:
        await service.cancel(victim)
        with contextlib.suppress(NotFound):
            await world.client.request("DELETE", _path(world, pod), query={"gracePeriodSeconds": 0})
        await world.until_state(victim, "cancelled", "failed")
    finally:
        await bring_back(world.client, node)
    await made.over()
    later = await service.submit("later", 1)
    assert later is not None
    await made.holds({victim: {"cancelled", "failed"}, later: {"succeeded"}})


def _path(world: Any, pod: dict[str, Any]) -> str:
    return POD.object_path(world.namespace, pod["metadata"]["name"])


async def _pods(world: Any, job_id: str) -> list[dict[str, Any]]:
    query = {"labelSelector": f"{JOB_ID_LABEL}={job_id}"}
    found: list[dict[str, Any]] = (await world.client.request("GET", POD.namespace_path(world.namespace), query=query))[
        "items"
    ]
    return found
