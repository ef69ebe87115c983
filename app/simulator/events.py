"""Events, as components write them, and their expiry."""

import asyncio
import time
from datetime import UTC, datetime

from app.simulator.clock import Clock
from app.simulator.kinds import EVENT, Kind
from app.simulator.objects import ApiError, Object, Objects

LIFETIME_SECONDS = 3600.0
"""How long a kube-apiserver keeps events (--event-ttl)."""
_CHECK_SECONDS = 60.0


async def record_event(
    objects: Objects,
    kind: Kind,
    regarding: Object,
    reason: str,
    message: str,
    *,
    type_: str = "Normal",
    component: str = "kubelet",
    host: str = "",
) -> None:
    """Write one event about an object. An event that cannot be written is dropped, as Kubernetes' recorders do."""
    metadata, stamp = regarding["metadata"], Clock.stamp()
    namespace = metadata.get("namespace") or "default"
    event: Object = {
        "metadata": {"name": f"{metadata['name'][:230]}.{time.time_ns():x}", "namespace": namespace},
        "involvedObject": {
            "kind": kind.name,
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata["uid"],
            "apiVersion": kind.api_version,
            "resourceVersion": metadata["resourceVersion"],
        },
        "reason": reason,
        "message": message,
        "source": {"component": component, **({"host": host} if host else {})},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
        "type": type_,
        "eventTime": None,
        "reportingComponent": component,
        "reportingInstance": host,
    }
    try:
        await objects.create(EVENT, event)
    except ApiError:
        return


async def expire_events(objects: Objects) -> None:
    """Delete events an hour after their last occurrence, until cancelled."""
    while True:
        await asyncio.sleep(_CHECK_SECONDS)
        now = datetime.now(UTC)
        for event in await objects.list(EVENT):
            stamp = event.get("lastTimestamp") or event["metadata"]["creationTimestamp"]
            age = (now - datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S%z")).total_seconds()
            if age > LIFETIME_SECONDS:
                await _forget(objects, event)


async def _forget(objects: Objects, event: Object) -> None:
    try:
        await objects.delete(EVENT, event["metadata"].get("namespace"), event["metadata"]["name"])
    except ApiError:
        return
