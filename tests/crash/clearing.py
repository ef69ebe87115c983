"""What is taken off a cluster after each test."""

import contextlib

import aiohttp

from app.cluster.errors import ClusterError
from app.cluster.kinds import JOB
from app.cluster.names import RECORDED_FINALIZER
from app.cluster.volcano import JobReference
from tests.crash.world import World


async def clear_away(world: World) -> None:
    """Delete what a test, whole or broken, has left in its namespace."""
    with contextlib.suppress(ClusterError, aiohttp.ClientError, TimeoutError):
        for item in (await world.client.request("GET", JOB.namespace_path(world.namespace)))["items"]:
            job = JobReference(world.namespace, item["metadata"]["name"], item["metadata"]["uid"])
            await world.volcano.delete_job(job)
            await world.volcano.remove_finalizer(job, RECORDED_FINALIZER)
