"""What a person needs to see when a wait has run out: each part's view of one job, and the controller's last words."""

import json
from collections.abc import Iterable
from typing import Any

from app.cluster.client import Object
from app.cluster.kinds import JOB, POD, POD_GROUP, QUEUE
from app.cluster.names import JOB_ID_LABEL
from tests.e2e.cluster.kube import EVENT, Kube
from tests.e2e.cluster.service import Service

_EVENTS = 15
_LONGEST_LINE = 600


async def tell(kube: Kube, service: Service, job_id: str) -> str:
    """Everything that can be seen of a job."""
    read = await service.get(f"/v1/jobs/{job_id}")
    history = await service.get(f"/v1/jobs/{job_id}/events")
    lines = [_line("job", {name: value for name, value in read.items() if name != "spec"})]
    lines += [_line("history", {name: item[name] for name in ("at", "state", "reason")}) for item in history["items"]]
    lines += await _cluster(kube, read["k8s_namespace"], job_id)
    queue = await kube.get(QUEUE.object_path(None, read["queue"]))
    lines.append(_line("Queue", queue and {"spec": queue["spec"], "status": queue.get("status")}))
    log = service.controller.tail() if service.controller else ""
    return "\n".join([*lines, "the controller's log ends:", log])


async def _cluster(kube: Kube, namespace: str, job_id: str) -> list[str]:
    selector = f"{JOB_ID_LABEL}={job_id}"
    lines: list[str] = []
    for kind in (JOB, POD_GROUP, POD):
        found = await kube.list(kind.namespace_path(namespace), selector)
        lines += [_line(kind.name, _shown(obj)) for obj in found] or [f"{kind.name}: none"]
    events = await kube.list(EVENT.namespace_path(namespace))
    return [*lines, *_events(events)]


def _shown(obj: Object) -> Object:
    metadata = {name: obj["metadata"].get(name) for name in ("name", "deletionTimestamp", "finalizers")}
    return {**metadata, "node": obj["spec"].get("nodeName"), "status": obj.get("status")}


def _events(events: Iterable[Object]) -> list[str]:
    last = sorted(events, key=lambda event: event.get("lastTimestamp") or event["metadata"]["creationTimestamp"])
    return [
        f"Event: {event['involvedObject'].get('kind')} {event['involvedObject'].get('name')} "
        f"{event.get('reason')} {event.get('message')}"
        for event in last[-_EVENTS:]
    ]


def _line(name: str, value: Any) -> str:
    return f"{name}: {json.dumps(value, default=str)}"[:_LONGEST_LINE]
