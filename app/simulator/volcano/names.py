"""Keys that Volcano writes on objects (volcano-facts 2.10, 4.1)."""

from app.simulator.objects import Object

GROUP_NAME = "scheduling.k8s.io/group-name"
JOB_NAME = "volcano.sh/job-name"
JOB_NAMESPACE = "volcano.sh/job-namespace"
JOB_VERSION = "volcano.sh/job-version"
JOB_RETRY_COUNT = "volcano.sh/job-retry-count"
TASK_SPEC = "volcano.sh/task-spec"
TASK_INDEX = "volcano.sh/task-index"
QUEUE_NAME = "volcano.sh/queue-name"
TEMPLATE_UID = "volcano.sh/template-uid"
NUMA_POLICY = "volcano.sh/numa-topology-policy"
PARTITION_ID = "volcano.sh/partition-id"
OUT_OF_SYNC = "volcano.sh/controller-out-of-sync"
PREEMPTABLE = "volcano.sh/preemptable"
COOLDOWN_TIME = "volcano.sh/cooldown-time"
REVOCABLE_ZONE = "volcano.sh/revocable-zone"
JDB_MIN_AVAILABLE = "volcano.sh/jdb-min-available"
JDB_MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"

CONTROLLER = "vc-controller-manager"


def key_of(obj: Object) -> str:
    """`namespace/name`."""
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def annotation(obj: Object, key: str) -> str | None:
    """One annotation, or None."""
    value = (obj["metadata"].get("annotations") or {}).get(key)
    return None if value is None else str(value)


def controller_of(obj: Object) -> Object | None:
    """The ownerReference that has `controller: true`."""
    for reference in obj["metadata"].get("ownerReferences") or []:
        if reference.get("controller"):
            found: Object = reference
            return found
    return None


def pod_group_name(job: Object) -> str:
    """`<job>-<uid>`: a PodGroup belongs to one incarnation of a Job's name."""
    return f"{job['metadata']['name']}-{job['metadata']['uid']}"


def owner_reference(job: Object) -> Object:
    """What everything that a Job creates carries, so that garbage collection removes it with the Job."""
    return {
        "apiVersion": job.get("apiVersion", "batch.volcano.sh/v1alpha1"),
        "kind": "Job",
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
