"""A raw pod into what Pumice keeps of it (Kubernetes docs, "Pod Lifecycle"; labels of Volcano, volcano-facts 2.10)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.cluster import fields
from app.cluster.names import (
    INDEX_ANNOTATION,
    JOB_ID_LABEL,
    PROGRESS_ANNOTATION,
    VOLCANO_JOB_NAME_LABEL,
    VOLCANO_JOB_VERSION_ANNOTATION,
    VOLCANO_RETRY_COUNT_ANNOTATION,
    VOLCANO_TASK_INDEX_LABEL,
    VOLCANO_TASK_LABEL,
)
from app.cluster.observed import ObservedPod
from app.cluster.pod_progress import read_progress
from app.cluster.pod_resources import extended_resources

_STARTING = frozenset({"ContainerCreating", "PodInitializing"})
_OVER = frozenset({"Succeeded", "Failed"})

Fields = Mapping[str, Any]


def observe_pod(obj: Fields) -> ObservedPod | None:
    """Project a pod; None for an object without a name or uid."""
    metadata, spec, status = fields.mapping(obj, "metadata"), fields.mapping(obj, "spec"), fields.mapping(obj, "status")
    uid, name = fields.text(metadata.get("uid")), fields.text(metadata.get("name"))
    if not uid or not name:
        return None
    labels, annotations = fields.mapping(metadata, "labels"), fields.mapping(metadata, "annotations")
    containers = _container_statuses(status)
    phase = fields.text(status.get("phase"))
    reason, message = _trouble(status, containers)
    started_at, ended_at = _times(status, phase)
    written = annotations.get(PROGRESS_ANNOTATION)
    progress = read_progress(written)
    return ObservedPod(
        uid=uid,
        namespace=fields.text(metadata.get("namespace")),
        name=name,
        job_id=fields.optional_text(labels.get(JOB_ID_LABEL)),
        job_uid=fields.owning_job(metadata),
        job_name=fields.text(labels.get(VOLCANO_JOB_NAME_LABEL) or annotations.get(VOLCANO_JOB_NAME_LABEL)),
        job_version=fields.number(annotations.get(VOLCANO_JOB_VERSION_ANNOTATION)),
        retry_count=fields.number(annotations.get(VOLCANO_RETRY_COUNT_ANNOTATION)),
        task=fields.text(labels.get(VOLCANO_TASK_LABEL) or annotations.get(VOLCANO_TASK_LABEL)),
        index=fields.number(labels.get(VOLCANO_TASK_INDEX_LABEL) or annotations.get(VOLCANO_TASK_INDEX_LABEL)),
        run_index=fields.number(annotations.get(INDEX_ANNOTATION)),
        gates=_gates(spec),
        phase=phase,
        node=fields.optional_text(spec.get("nodeName")),
        exit_code=_exit_code(containers),
        reason=reason,
        message=message,
        waiting_reason=next((found for each in containers if (found := _waiting_reason(each))), ""),
        disruption=_condition_reason(status, "DisruptionTarget", "True"),
        restarts=sum(fields.count(each.get("restartCount")) for each in containers),
        resources=extended_resources(spec),
        progress=progress,
        progress_is_strange=progress is None and written is not None,
        created_at=fields.time(metadata.get("creationTimestamp")),
        started_at=started_at,
        ended_at=ended_at,
        deleting=bool(metadata.get("deletionTimestamp")),
        resource_version=str(metadata.get("resourceVersion") or ""),
    )


def _gates(spec: Fields) -> tuple[str, ...]:
    return tuple(fields.text(gate.get("name")) for gate in fields.mappings(spec.get("schedulingGates")))


def _container_statuses(status: Fields) -> tuple[Fields, ...]:
    """Return the statuses of all containers, init containers first, as they run."""
    return (
        *fields.mappings(status.get("initContainerStatuses")),
        *fields.mappings(status.get("containerStatuses")),
    )


def _ended(container: Fields) -> Fields:
    """Return how a container ended: now, or before its last restart."""
    return fields.mapping(container, "state", "terminated") or fields.mapping(container, "lastState", "terminated")


def _waiting_reason(container: Fields) -> str:
    return fields.text(fields.mapping(container, "state", "waiting").get("reason"))


def _exit_code(containers: tuple[Fields, ...]) -> int | None:
    """Return the code of the first container that failed; 0 when all that have ended ended well."""
    codes = [code for each in containers if (code := fields.number(_ended(each).get("exitCode"))) is not None]
    return next((code for code in codes if code), codes[0] if codes else None)


def _trouble(status: Fields, containers: tuple[Fields, ...]) -> tuple[str, str]:
    """Return reason and message of the first trouble that explains the most.

    The pod's own reason comes first: the containers of an evicted pod only say `Error` and 137.
    """
    own = fields.text(status.get("reason"))
    if own:
        return own, fields.message(status.get("message"))
    for each in containers:
        if (waiting := _waiting_reason(each)) and waiting not in _STARTING:
            return waiting, fields.message(fields.mapping(each, "state", "waiting").get("message"))
    for each in containers:
        ended = _ended(each)
        if fields.number(ended.get("exitCode")):
            return fields.text(ended.get("reason")) or "Error", fields.message(ended.get("message"))
    for condition in fields.mappings(status.get("conditions")):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return fields.text(condition.get("reason")), fields.message(condition.get("message"))
    return "", fields.message(status.get("message"))


def _condition_reason(status: Fields, kind: str, value: str) -> str:
    for condition in fields.mappings(status.get("conditions")):
        if condition.get("type") == kind and condition.get("status") == value:
            return fields.text(condition.get("reason")) or kind
    return ""


def _times(status: Fields, phase: str) -> tuple[datetime | None, datetime | None]:
    """Return when the work started and ended; a pod that never ran has neither."""
    starts: list[datetime] = []
    ends: list[datetime] = []
    for container in fields.mappings(status.get("containerStatuses")):
        ended, running = _ended(container), fields.mapping(container, "state", "running")
        starts += [at for each in (ended, running) if (at := fields.time(each.get("startedAt")))]
        ends += [at] if (at := fields.time(ended.get("finishedAt"))) else []
    if not starts and phase in {*_OVER, "Running"}:
        # The kubelet has taken the pod on, though it says nothing of containers (evicted at once, simulated nodes).
        at = fields.time(status.get("startTime"))
        starts = [at] if at else []
    if phase not in _OVER:
        return min(starts, default=None), None
    return min(starts, default=None), max(ends, default=_last_change(status))


def _last_change(status: Fields) -> datetime | None:
    changes = (fields.time(each.get("lastTransitionTime")) for each in fields.mappings(status.get("conditions")))
    return max((at for at in changes if at), default=None)
