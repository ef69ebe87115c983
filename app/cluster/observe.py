"""Raw objects into what Pumice keeps of them: pure functions that no object can make fail.

Each returns None for an object without a name or uid, which no API server sends.
"""

from collections.abc import Mapping
from typing import Any

from app.cluster import fields
from app.cluster.names import INSTALLATION_LABEL, JOB_ID_LABEL
from app.cluster.observed import Counts, ObservedJob, ObservedNode, ObservedPodGroup, ObservedQueue, Taint


def observe_job(obj: Mapping[str, Any]) -> ObservedJob | None:
    """Project a Volcano Job."""
    metadata, spec, status = fields.mapping(obj, "metadata"), fields.mapping(obj, "spec"), fields.mapping(obj, "status")
    uid, name = fields.text(metadata.get("uid")), fields.text(metadata.get("name"))
    if not uid or not name:
        return None
    labels, state = fields.mapping(metadata, "labels"), fields.mapping(status, "state")
    return ObservedJob(
        uid=uid,
        namespace=fields.text(metadata.get("namespace")),
        name=name,
        job_id=fields.optional_text(labels.get(JOB_ID_LABEL)),
        installation=fields.optional_text(labels.get(INSTALLATION_LABEL)),
        queue=fields.text(spec.get("queue")),
        phase=fields.text(state.get("phase")),
        version=fields.count(status.get("version")),
        retry_count=fields.count(status.get("retryCount")),
        min_available=fields.count(spec.get("minAvailable")),
        counts=_counts(status),
        deleting=bool(metadata.get("deletionTimestamp")),
        finalizers=fields.texts(metadata.get("finalizers")),
        created_at=fields.time(metadata.get("creationTimestamp")),
        last_transition_at=fields.time(state.get("lastTransitionTime")),
        resource_version=str(metadata.get("resourceVersion") or ""),
        labels={key: value for key, value in labels.items() if isinstance(value, str)},
        priority_class=fields.text(spec.get("priorityClassName")),
    )


def observe_pod_group(obj: Mapping[str, Any]) -> ObservedPodGroup | None:
    """Project a PodGroup."""
    metadata, spec, status = fields.mapping(obj, "metadata"), fields.mapping(obj, "spec"), fields.mapping(obj, "status")
    uid, name = fields.text(metadata.get("uid")), fields.text(metadata.get("name"))
    if not uid or not name:
        return None
    condition = _newest_condition(status)
    return ObservedPodGroup(
        uid=uid,
        namespace=fields.text(metadata.get("namespace")),
        name=name,
        job_uid=fields.owning_job(metadata),
        job_id=fields.optional_text(fields.mapping(metadata, "labels").get(JOB_ID_LABEL)),
        queue=fields.text(spec.get("queue")),
        phase=fields.text(status.get("phase")),
        condition=fields.text(condition.get("type")),
        reason=fields.text(condition.get("reason")),
        message=fields.message(condition.get("message")),
        condition_at=fields.time(condition.get("lastTransitionTime")),
        min_member=fields.count(spec.get("minMember")),
        running=fields.count(status.get("running")),
        succeeded=fields.count(status.get("succeeded")),
        failed=fields.count(status.get("failed")),
        created_at=fields.time(metadata.get("creationTimestamp")),
        resource_version=str(metadata.get("resourceVersion") or ""),
    )


def observe_queue(obj: Mapping[str, Any]) -> ObservedQueue | None:
    """Project a Volcano Queue."""
    metadata, spec, status = fields.mapping(obj, "metadata"), fields.mapping(obj, "spec"), fields.mapping(obj, "status")
    uid, name = fields.text(metadata.get("uid")), fields.text(metadata.get("name"))
    if not uid or not name:
        return None
    return ObservedQueue(
        uid=uid,
        name=name,
        state=fields.text(status.get("state")),
        weight=fields.count(spec.get("weight")) or 1,
        priority=fields.count(spec.get("priority")),
        capability=fields.quantities(spec.get("capability")),
        deserved=fields.quantities(spec.get("deserved")),
        guarantee=fields.quantities(fields.mapping(spec, "guarantee").get("resource")),
        reclaimable=spec.get("reclaimable") is not False,
        parent=fields.text(spec.get("parent")),
        allocated=fields.quantities(status.get("allocated")),
        resource_version=str(metadata.get("resourceVersion") or ""),
    )


def observe_node(obj: Mapping[str, Any]) -> ObservedNode | None:
    """Project a node."""
    spec, status = fields.mapping(obj, "spec"), fields.mapping(obj, "status")
    name = fields.text(fields.mapping(obj, "metadata").get("name"))
    if not name:
        return None
    return ObservedNode(
        name=name,
        ready=any(
            condition.get("type") == "Ready" and condition.get("status") == "True"
            for condition in fields.mappings(status.get("conditions"))
        ),
        unschedulable=spec.get("unschedulable") is True,
        allocatable=fields.quantities(status.get("allocatable")),
        taints=tuple(
            Taint(fields.text(taint.get("key")), fields.text(taint.get("value")), fields.text(taint.get("effect")))
            for taint in fields.mappings(spec.get("taints"))
        ),
    )


def _counts(status: Mapping[str, Any]) -> Counts:
    return Counts(
        pending=fields.count(status.get("pending")),
        running=fields.count(status.get("running")),
        succeeded=fields.count(status.get("succeeded")),
        failed=fields.count(status.get("failed")),
        terminating=fields.count(status.get("terminating")),
        unknown=fields.count(status.get("unknown")),
    )


def _newest_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the valid one of Unschedulable and Scheduled.

    Volcano never sets either to False; the later one counts, and of two in the same second the first in the list
    (volcano-facts 6.2, Volcano issue 4503).
    """
    newest: Mapping[str, Any] = {}
    newest_at = None
    for condition in fields.mappings(status.get("conditions")):
        if (
            fields.text(condition.get("type")) not in {"Unschedulable", "Scheduled"}
            or condition.get("status") == "False"
        ):
            continue
        at = fields.time(condition.get("lastTransitionTime"))
        if not newest or (at is not None and (newest_at is None or at > newest_at)):
            newest, newest_at = condition, at
    return newest
