"""What must be true of objects, as schemas.

`SCHEMAS` holds the parts of the CRD schemas of Volcano v1.15.1 that refuse or default something (volcano-facts 1.2,
1.4, 1.5, 1.6). They are structural OpenAPI schemas. Fields without a rule are left out: a real API server would prune
unknown fields, this one keeps them.
"""

from typing import Any

from app.simulator.kinds import (
    COMMAND,
    CONFIG_MAP,
    DEPLOYMENT,
    EVENT,
    JOB,
    NAMESPACE,
    NODE,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    QUEUE,
    SECRET,
    SERVICE,
    Kind,
)

Schema = dict[str, Any]

_NAME_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_SUBDOMAIN_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_EVENTS = (
    "*",
    "PodPending",
    "PodRunning",
    "PodFailed",
    "PodEvicted",
    "Unknown",
    "TaskCompleted",
    "OutOfSync",
    "CommandIssued",
    "JobUpdated",
    "TaskFailed",
)


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _count(minimum: int = 0, **more: Any) -> Schema:
    return {"type": "integer", "minimum": minimum, **more}


def _text(longest: int | None = None, pattern: str | None = None) -> Schema:
    schema: Schema = {"type": "string"}
    if longest is not None:
        schema["maxLength"] = longest
    if pattern is not None:
        schema["pattern"] = pattern
    return schema


_EVENT: Schema = {"type": "string", "enum": _EVENTS}
_POLICIES: Schema = {
    "type": "array",
    "items": _object(
        action=_text(),
        event=_EVENT,
        events={"type": "array", "items": _EVENT},
        exitCode={"type": "integer"},
        timeout=_text(),
    ),
}
_TASK = _object(
    name=_text(63, _NAME_PATTERN),
    replicas=_count(),
    minAvailable=_count(),
    maxRetry=_count(),
    policies=_POLICIES,
    topologyPolicy={"type": "string", "enum": ("none", "best-effort", "restricted", "single-numa-node")},
    template={"type": "object"},
)
_JOB = _object(
    schedulerName=_text(63),
    minAvailable=_count(),
    tasks={"type": "array", "minItems": 1, "items": _TASK},
    policies=_POLICIES,
    queue=_text(253, _SUBDOMAIN_PATTERN),
    maxRetry=_count(),
    ttlSecondsAfterFinished=_count(),
    priorityClassName=_text(253, _SUBDOMAIN_PATTERN),
    minSuccess=_count(1),
)
_QUEUE = _object(
    weight=_count(1, maximum=65535),
    priority=_count(),
    parent=_text(253, _SUBDOMAIN_PATTERN),
    reclaimable={"type": "boolean"},
    dequeueStrategy={"type": "string", "enum": ("fifo", "traverse")},
    capability={"type": "object"},
    deserved={"type": "object"},
    guarantee={"type": "object"},
)
_POD_GROUP = _object(
    minMember=_count(), queue=_text(253), priorityClassName=_text(253), minResources={"type": "object"}
)

SCHEMAS: dict[Kind, Schema] = {
    JOB: _object(spec=_JOB, status={"type": "object"}),
    QUEUE: _object(spec=_QUEUE, status={"type": "object"}),
    POD_GROUP: _object(spec=_POD_GROUP, status={"type": "object"}),
    COMMAND: _object(action=_text(), target={"type": "object", "required": ("apiVersion", "kind", "name", "uid")}),
}

_CONTAINERS: Schema = {
    "type": "array",
    "items": _object(
        name=_text(),
        image=_text(),
        command={"type": "array", "items": _text()},
        args={"type": "array", "items": _text()},
        env={"type": "array", "items": {"type": "object"}},
        resources=_object(limits={"type": "object"}, requests={"type": "object"}),
    ),
}
_POD = _object(
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    nodeName=_text(),
    schedulerName=_text(),
    priorityClassName=_text(),
    restartPolicy=_text(),
    terminationGracePeriodSeconds={"type": "integer"},
    tolerations={"type": "array", "items": {"type": "object"}},
)
_CONDITIONS: Schema = {"type": "array", "items": {"type": "object", "required": ("type",)}}

SHAPES: dict[Kind, Schema] = {
    POD: _object(
        spec=_POD,
        status=_object(
            phase=_text(),
            conditions=_CONDITIONS,
            containerStatuses={"type": "array", "items": {"type": "object", "required": ("name",)}},
        ),
    ),
    NODE: _object(spec={"type": "object"}, status=_object(conditions=_CONDITIONS)),
    NAMESPACE: _object(spec={"type": "object"}, status={"type": "object"}),
    SERVICE: _object(spec={"type": "object"}, status={"type": "object"}),
    DEPLOYMENT: _object(spec={"type": "object"}, status={"type": "object"}),
    PRIORITY_CLASS: _object(value={"type": "integer"}, globalDefault={"type": "boolean"}, preemptionPolicy=_text()),
    SECRET: _object(data={"type": "object"}, stringData={"type": "object"}),
    CONFIG_MAP: _object(data={"type": "object"}),
    EVENT: _object(involvedObject={"type": "object"}, source={"type": "object"}, message=_text(), reason=_text()),
}
"""The types of those fields of core objects that this server or its controllers read. Others are not looked at."""

DEFAULTS: dict[Kind, dict[str, Any]] = {
    JOB: {"maxRetry": 3, "queue": "default"},
    QUEUE: {"weight": 1, "dequeueStrategy": "traverse"},
    POD_GROUP: {"queue": "default"},
}
"""What the CRDs put into `spec` where it is missing."""
