"""The pods of a Job (volcano-facts 2.10, `createJobPod`)."""

import copy

from app.simulator.objects import Object
from app.simulator.volcano import names
from app.simulator.volcano.job_plugins import prepare_pod

_COPIED = (names.PREEMPTABLE, names.COOLDOWN_TIME, names.REVOCABLE_ZONE)
_BUDGETS = (names.JDB_MIN_AVAILABLE, names.JDB_MAX_UNAVAILABLE)


def pod_name(job: str, task: str, index: int) -> str:
    """`<job>-<task>-<index>`."""
    return f"{job}-{task}-{index}"


def build_pod(job: Object, task: Object, index: int) -> Object:
    """Return pod `index` of a task: the task's template with Volcano's labels, annotations and plugins."""
    template = copy.deepcopy(task["template"])
    metadata = {key: value for key, value in (template.get("metadata") or {}).items() if key != "creationTimestamp"}
    metadata["name"] = pod_name(job["metadata"]["name"], task["name"], index)
    metadata["namespace"] = job["metadata"]["namespace"]
    metadata["ownerReferences"] = [names.owner_reference(job)]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **_annotations(job, task, index)}
    metadata["labels"] = {**(metadata.get("labels") or {}), **_labels(job, task, index)}
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}
    _fill_from_job(pod["spec"], job["spec"])
    prepare_pod(pod, job, index)
    return pod


def _annotations(job: Object, task: Object, index: int) -> dict[str, str]:
    status = job.get("status") or {}
    annotations = {
        names.TASK_INDEX: str(index),
        names.TASK_SPEC: task["name"],
        names.GROUP_NAME: names.pod_group_name(job),
        names.JOB_NAME: job["metadata"]["name"],
        names.QUEUE_NAME: job["spec"].get("queue", "default"),
        names.JOB_VERSION: str(status.get("version", 0)),
        names.JOB_RETRY_COUNT: str(status.get("retryCount", 0)),
        names.TEMPLATE_UID: f"{job['metadata']['name']}-{task['name']}",
    }
    if task.get("topologyPolicy"):
        annotations[names.NUMA_POLICY] = task["topologyPolicy"]
    own = job["metadata"].get("annotations") or {}
    annotations.update({key: own[key] for key in _COPIED if key in own})
    for key in _BUDGETS:
        if key in own:
            annotations[key] = own[key]
            break
    return annotations


def _labels(job: Object, task: Object, index: int) -> dict[str, str]:
    labels = {
        names.TASK_INDEX: str(index),
        names.JOB_NAME: job["metadata"]["name"],
        names.JOB_NAMESPACE: job["metadata"]["namespace"],
        names.TASK_SPEC: task["name"],
        names.QUEUE_NAME: job["spec"].get("queue", "default"),
    }
    own = job["metadata"].get("labels") or {}
    labels.update({key: own[key] for key in (names.PREEMPTABLE, names.COOLDOWN_TIME) if key in own})
    policy = task.get("partitionPolicy")
    if policy:
        size = int(policy.get("partitionSize", 0))
        labels[names.PARTITION_ID] = str(index // size if size > 0 else 0)
    return labels


def _fill_from_job(pod_spec: Object, job_spec: Object) -> None:
    if not pod_spec.get("schedulerName"):
        pod_spec["schedulerName"] = job_spec.get("schedulerName", "volcano")
    if not pod_spec.get("priorityClassName") and job_spec.get("priorityClassName"):
        pod_spec["priorityClassName"] = job_spec["priorityClassName"]
    for number, volume in enumerate(job_spec.get("volumes") or []):
        name = f"volume-{number}"
        pod_spec.setdefault("volumes", []).append(
            {"name": name, "persistentVolumeClaim": {"claimName": volume.get("volumeClaimName", "")}}
        )
        for container in pod_spec.get("containers") or []:
            container.setdefault("volumeMounts", []).append({"name": name, "mountPath": volume["mountPath"]})
