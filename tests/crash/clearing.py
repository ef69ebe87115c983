"""Putting a cluster in order again: what a test has left, and a node that it has taken away."""

import contextlib
from typing import Any

import aiohttp

from app.cluster.client import MERGE_PATCH, ClusterClient
from app.cluster.errors import ClusterError
from app.cluster.kinds import JOB, NODE
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


async def bring_back(client: ClusterClient, node: dict[str, Any]) -> None:
    """Make a deleted node again, without the taint that an API server gives to every new one."""
    metadata = {name: node["metadata"].get(name, {}) for name in ("name", "labels", "annotations")}
    again = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": node["status"]}
    await client.request("POST", NODE.collection_path, body=again)
    untaint = {"spec": {"taints": None}}
    path = NODE.object_path(None, node["metadata"]["name"])
    await client.request("PATCH", path, body=untaint, content_type=MERGE_PATCH)
