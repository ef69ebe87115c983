"""Leaving the cluster as it was found: removing everything of this run, and looking for what is left."""

import asyncio
import time

from app.cluster.client import Object
from app.cluster.errors import ClusterError
from app.cluster.kinds import COMMAND, JOB, POD, POD_GROUP
from app.cluster.names import RECORDED_FINALIZER
from app.cluster.volcano import JobReference, Volcano
from tests.e2e.cluster.kube import CLUSTER_WIDE, NAMESPACE, Kube

_LIMIT_SECONDS = 150.0
_PAUSE_SECONDS = 0.5
_IN_NAMESPACES = (JOB, POD_GROUP, POD, COMMAND)


async def remove(kube: Kube, run: str) -> None:
    """Remove everything whose name begins with the run's; repeated until it is gone.

    Namespaces go first and queues after them: a queue with work in it may be refused. The service is stopped by now, so
    nobody else would take its finalizer off.
    """
    deadline = time.monotonic() + _LIMIT_SECONDS
    trouble = ""
    while time.monotonic() < deadline:
        try:
            await release(kube, run)
            if not await _removed(kube, run):
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
        except ClusterError as error:
            trouble = error.message
            await asyncio.sleep(_PAUSE_SECONDS)
            continue
        return
    left = ", ".join(await left_over(kube, run))
    raise AssertionError(f"not removed within {_LIMIT_SECONDS:g} s ({trouble}): {left}")


async def release(kube: Kube, beginning: str) -> None:
    """Delete the Volcano Jobs of the namespaces whose names begin so, and take the service's finalizer off them."""
    for job in await kube.list(JOB.collection_path):
        metadata = job["metadata"]
        if not metadata["namespace"].startswith(beginning):
            continue
        if "deletionTimestamp" not in metadata:
            await kube.delete(JOB.object_path(metadata["namespace"], metadata["name"]), metadata["uid"])
        reference = JobReference(metadata["namespace"], metadata["name"], metadata["uid"])
        await Volcano(kube.client).remove_finalizer(reference, RECORDED_FINALIZER)


async def _removed(kube: Kube, run: str) -> bool:
    """Ask for the deletion of what is there, and say whether nothing was."""
    for kind in CLUSTER_WIDE:
        found = [obj for obj in await kube.list(kind.collection_path) if obj["metadata"]["name"].startswith(run)]
        for obj in found:
            if "deletionTimestamp" not in obj["metadata"]:
                await kube.delete(kind.object_path(None, obj["metadata"]["name"]), obj["metadata"]["uid"])
        if found and kind is NAMESPACE:
            return False
    return not await left_over(kube, run)


async def left_over(kube: Kube, run: str) -> list[str]:
    """Everything of the run that is in the cluster; Events about queues are not: they expire by themselves."""
    found = [
        f"{kind.name} {obj['metadata']['name']}"
        for kind in CLUSTER_WIDE
        for obj in await kube.list(kind.collection_path)
        if obj["metadata"]["name"].startswith(run)
    ]
    for kind in _IN_NAMESPACES:
        places = [_place(obj) for obj in await kube.list(kind.collection_path)]
        found += [f"{kind.name} {place}" for place in places if place.startswith(run)]
    return found


def _place(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
