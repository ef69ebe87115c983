"""Events, as components write them, and their expiry."""

import asyncio
import itertools
import time
from datetime import UTC, datetime

from app.simulator.clock import Clock
from app.simulator.kinds import EVENT
from app.simulator.objects import ApiError, Object, Objects

LIFETIME_SECONDS = 3600.0
"""How long a kube-apiserver keeps events (--event-ttl)."""
_CHECK_SECONDS = 60.0
_LONGEST_NAME = 230


_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")
_numbers = itertools.count()


def event_of(regarding: Object, type_: str, reason: str, message: str, *, component: str, host: str = "") -> Object:
    """A core/v1 Event about an object; named after it, and unique.

    Events of cluster-wide objects are kept in the namespace `default`.
    """
    facts = {"kind": regarding.get("kind"), "apiVersion": regarding.get("apiVersion"), **regarding["metadata"]}
    stamp = Clock.stamp()
    unique = f"{time.time_ns():x}{next(_numbers):x}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{facts['name'][:_LONGEST_NAME]}.{unique}", "namespace": namespace_of(regarding)},
        "involvedObject": {field: facts[field] for field in _FIELDS if facts.get(field)},
        "type": type_,
        "reason": reason,
        "message": message,
        "source": {"component": component, **({"host": host} if host else {})},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
        "eventTime": None,
        "reportingComponent": component,
        "reportingInstance": host,
    }


def namespace_of(regarding: Object) -> str:
    """Where the events about an object are kept."""
    return str(regarding["metadata"].get("namespace") or "default")


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
