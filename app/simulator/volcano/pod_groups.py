"""The PodGroup of a Job (volcano-facts 2.5)."""

import copy
from collections.abc import Mapping

from app.simulator.kinds import POD_GROUP
from app.simulator.objects import Object
from app.simulator.volcano.job_states import task_minimum
from app.simulator.volcano.min_resources import min_resources
from app.simulator.volcano.names import owner_reference, pod_group_name

WAITING = ("", "Pending")
"""Phases in which the scheduler has not let the Job in yet, so that it gets no pods."""


def build_pod_group(job: Object, priorities: Mapping[str, int]) -> Object:
    """Return the PodGroup that the Job controller creates, without a phase."""
    metadata: Object = {
        "name": pod_group_name(job),
        "namespace": job["metadata"]["namespace"],
        "ownerReferences": [owner_reference(job)],
    }
    for field in ("annotations", "labels"):
        if job["metadata"].get(field):
            metadata[field] = dict(job["metadata"][field])
    spec = _wanted(job, priorities)
    spec["queue"] = job["spec"].get("queue", "default")
    if job["spec"].get("networkTopology"):
        spec["networkTopology"] = copy.deepcopy(job["spec"]["networkTopology"])
    return {
        "apiVersion": POD_GROUP.api_version,
        "kind": POD_GROUP.name,
        "metadata": metadata,
        "spec": spec,
        "status": {},
    }


def update_pod_group(pod_group: Object, job: Object, priorities: Mapping[str, int]) -> Object | None:
    """Return the PodGroup with the Job's present numbers, or None when it has them. The queue never changes."""
    spec = {**pod_group["spec"], **_wanted(job, priorities)}
    if not job["spec"].get("priorityClassName"):
        spec.pop("priorityClassName", None)
    if spec == pod_group["spec"]:
        return None
    changed = copy.deepcopy(pod_group)
    changed["spec"] = spec
    return changed


def phase_of(pod_group: Object) -> str:
    """The PodGroup's phase; empty until the scheduler has seen it."""
    return str((pod_group.get("status") or {}).get("phase") or "")


def newest_condition(pod_group: Object) -> Object | None:
    """The true condition with the latest transition; the first of several with the same time."""
    newest: Object | None = None
    for condition in (pod_group.get("status") or {}).get("conditions") or []:
        if condition.get("status") != "True":
            continue
        if newest is None or condition.get("lastTransitionTime", "") > newest.get("lastTransitionTime", ""):
            newest = condition
    return newest


def _wanted(job: Object, priorities: Mapping[str, int]) -> Object:
    spec: Object = {
        "minMember": int(job["spec"].get("minAvailable", 0)),
        "minTaskMember": {task["name"]: task_minimum(task) for task in job["spec"]["tasks"]},
        "minResources": min_resources(job, priorities),
    }
    if job["spec"].get("priorityClassName"):
        spec["priorityClassName"] = job["spec"]["priorityClassName"]
    policies = [_sub_group_policy(task) for task in job["spec"]["tasks"] if task.get("partitionPolicy")]
    if policies:
        spec["subGroupPolicy"] = policies
    return spec


def _sub_group_policy(task: Object) -> Object:
    policy = task["partitionPolicy"]
    return {
        "name": task["name"],
        "subGroupSize": policy["partitionSize"],
        "minSubGroups": policy.get("minPartitions", 0),
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": task["name"]}},
        "matchLabelKeys": ["volcano.sh/partition-id"],
    }
