"""What must be true of objects, as schemas.

`SCHEMAS` holds the parts of the CRD schemas of Volcano v1.15.1 that refuse or default something (volcano-facts 1.2,
1.4, 1.5, 1.6). They are structural OpenAPI schemas. Fields without a rule are left out: a real API server would prune
unknown fields, this one keeps them.
"""

from typing import Any

from app.simulator.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
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
    ROLE,
    ROLE_BINDING,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
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


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _containers(quantity: Schema) -> Schema:
    resources = _object(limits=_map(quantity), requests=_map(quantity))
    return _list(
        _object(
            name=_text(),
            image=_text(),
            command=_list(_text()),
            args=_list(_text()),
            env=_list(_object(name=_text(), value=_text())),
            ports=_list({"type": "object"}),
            volumeMounts=_list({"type": "object"}),
            resources=resources,
        )
    )


def _pod_spec(quantity: Schema) -> Schema:
    return _object(
        containers=_containers(quantity),
        initContainers=_containers(quantity),
        volumes=_list({"type": "object"}),
        nodeSelector=_map(_text()),
        affinity={"type": "object"},
        nodeName=_text(),
        schedulerName=_text(),
        priorityClassName=_text(),
        restartPolicy=_text(),
        hostNetwork={"type": "boolean"},
        dnsPolicy=_text(),
        terminationGracePeriodSeconds={"type": "integer"},
        tolerations=_list({"type": "object"}),
        schedulingGates=_list(_object(name=_text())),
    )


_CUSTOM_QUANTITY: Schema = {"type": "integer or string"}
_RESOURCES = _map(_CUSTOM_QUANTITY)
_TOPOLOGY = _object(mode=_text(), highestTierAllowed=_count(), highestTierName=_text(253))
_TEMPLATE = _object(
    metadata=_object(labels=_map(_text()), annotations=_map(_text())),
    spec=_pod_spec(_CUSTOM_QUANTITY),
)
_EVENT: Schema = {"type": "string", "enum": _EVENTS}
_POLICIES = _list(
    _object(action=_text(), event=_EVENT, events=_list(_EVENT), exitCode={"type": "integer"}, timeout=_text())
)
_TASK = _object(
    name=_text(63, _NAME_PATTERN),
    replicas=_count(),
    minAvailable=_count(),
    maxRetry=_count(),
    policies=_POLICIES,
    topologyPolicy={"type": "string", "enum": ("none", "best-effort", "restricted", "single-numa-node")},
    dependsOn=_object(name=_list(_text()), iteration={"type": "string", "enum": ("any", "all")}),
    partitionPolicy=_object(totalPartitions=_count(1), partitionSize=_count(1), minPartitions=_count()),
    template=_TEMPLATE,
)
_JOB = _object(
    schedulerName=_text(63),
    minAvailable=_count(),
    tasks=_list(_TASK, minItems=1),
    policies=_POLICIES,
    plugins=_map(_list(_text())),
    volumes=_list(_object(mountPath=_text(), volumeClaimName=_text(253), volumeClaim={"type": "object"})),
    runningEstimate=_text(),
    networkTopology=_TOPOLOGY,
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
    type=_text(253),
    dequeueStrategy={"type": "string", "enum": ("fifo", "traverse")},
    capability=_RESOURCES,
    deserved=_RESOURCES,
    guarantee=_object(resource=_RESOURCES),
)
_POD_GROUP = _object(
    minMember=_count(),
    minTaskMember=_map({"type": "integer"}),
    queue=_text(253),
    priorityClassName=_text(253),
    minResources=_RESOURCES,
    networkTopology=_TOPOLOGY,
)

SCHEMAS: dict[Kind, Schema] = {
    JOB: _object(spec=_JOB, status={"type": "object"}),
    QUEUE: _object(spec=_QUEUE, status={"type": "object"}),
    POD_GROUP: _object(spec=_POD_GROUP, status={"type": "object"}),
    COMMAND: _object(action=_text(), target={"type": "object", "required": ("apiVersion", "kind", "name", "uid")}),
}

_RULES = _list(
    _object(
        verbs=_list(_text()),
        apiGroups=_list(_text()),
        resources=_list(_text()),
        resourceNames=_list(_text()),
        nonResourceURLs=_list(_text()),
    )
)
_BINDING = _object(
    roleRef=_object(apiGroup=_text(), kind=_text(), name=_text()),
    subjects=_list(_object(kind=_text(), apiGroup=_text(), name=_text(), namespace=_text())),
)
_CONDITIONS = _list({"type": "object", "required": ("type",)})

SHAPES: dict[Kind, Schema] = {
    POD: _object(
        spec=_pod_spec({"type": "quantity"}),
        status=_object(
            phase=_text(),
            conditions=_CONDITIONS,
            containerStatuses=_list({"type": "object", "required": ("name",)}),
        ),
    ),
    NODE: _object(spec={"type": "object"}, status=_object(conditions=_CONDITIONS)),
    NAMESPACE: _object(spec={"type": "object"}, status={"type": "object"}),
    SERVICE: _object(spec={"type": "object"}, status={"type": "object"}),
    DEPLOYMENT: _object(spec={"type": "object"}, status={"type": "object"}),
    PRIORITY_CLASS: _object(value={"type": "integer"}, globalDefault={"type": "boolean"}, preemptionPolicy=_text()),
    SECRET: _object(data={"type": "object"}, stringData={"type": "object"}),
    CONFIG_MAP: _object(data=_map(_text())),
    SERVICE_ACCOUNT: _object(secrets=_list({"type": "object"}), automountServiceAccountToken={"type": "boolean"}),
    ROLE: _object(rules=_RULES),
    CLUSTER_ROLE: _object(rules=_RULES, aggregationRule={"type": "object"}),
    ROLE_BINDING: _BINDING,
    CLUSTER_ROLE_BINDING: _BINDING,
    EVENT: _object(involvedObject={"type": "object"}, source={"type": "object"}, message=_text(), reason=_text()),
}
"""The types of those fields of core objects that this server or its controllers read. Others are not looked at."""

DEFAULTS: dict[Kind, dict[str, Any]] = {
    JOB: {"maxRetry": 3, "queue": "default"},
    QUEUE: {"weight": 1, "dequeueStrategy": "traverse"},
    POD_GROUP: {"queue": "default"},
}
"""What the CRDs put into `spec` where it is missing."""
