"""What is sent: `{type, timestamp, data}`, as Standard Webhooks recommends it. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from app.jobs.views import event_read, job_read


def message_id(webhook_id: UUID, event_id: int | None, delivery_id: UUID) -> str:
    """The `webhook-id` of a message.

    It is made of the endpoint and the event, so that a retry, a replay and a repetition after a crash all bear the
    same; that of a ping is its delivery's own.
    """
    about = f"ping/{delivery_id}" if event_id is None else f"event/{event_id}"
    return f"msg_{uuid5(webhook_id, about).hex}"


def event_body(kind: str, event: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    """The body about an event: the event as it was written, and the job as it is now.

    The job goes without its spec, which is large and the same each time; `GET /v1/jobs/{id}` has it.
    """
    data = {
        "event": event_read(event).model_dump(mode="json"),
        "job": job_read(job).model_dump(mode="json", exclude={"spec"}),
    }
    return _document(kind, event["at"], data)


def ping_body(kind: str, webhook_id: UUID, at: datetime) -> str:
    """The body of a ping."""
    return _document(kind, at, {"webhook": str(webhook_id)})


def _document(kind: str, at: datetime, data: dict[str, Any]) -> str:
    moment = at.isoformat().replace("+00:00", "Z")
    return json.dumps({"type": kind, "timestamp": moment, "data": data}, separators=(",", ":"), ensure_ascii=False)
