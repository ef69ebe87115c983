"""What Pumice keeps of the cluster's objects. Times are aware UTC; texts are "" and counts 0 where there is nothing."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods by state as `Job.status` counts them. They drop back to 0 at the end (Volcano issue 4616)."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """A Volcano Job.

    Attributes:
        job_id: id of our row, None on a Job that is not ours.
        installation: which Pumice made it.
        phase: as Volcano writes it, also one that we do not know; "" while its controller has not seen the Job.
        version: rises with every kill, not only with restarts (volcano-facts 2.6).
        retry_count: runs that have ended; a resume counts too.
        deleting: it has a deletionTimestamp.
        last_transition_at: the last write of the status, which is not when the phase was entered (volcano-facts 2.5).
        labels: all of them, ours and others'.
        priority_class: "" for none.
    """

    uid: str
    namespace: str
    name: str
    job_id: str | None
    installation: str | None
    queue: str
    phase: str
    version: int
    retry_count: int
    min_available: int
    counts: Counts
    deleting: bool
    finalizers: tuple[str, ...]
    created_at: datetime | None
    last_transition_at: datetime | None
    resource_version: str
    labels: dict[str, str] = field(default_factory=dict, hash=False)
    priority_class: str = ""


@dataclass(frozen=True, slots=True)
class ObservedPodGroup:
    """A PodGroup.

    Attributes:
        job_uid: of the Job that owns it, None for the group of bare pods.
        job_id: id of our row, from the label that Volcano copies from the Job.
        phase: "" while the scheduler has not seen it, then Pending, Inqueue, Running, Unknown or Completed.
        condition: the newer of Unschedulable and Scheduled, which are never set to False; "" for neither.
        reason: of that condition.
        message: of that condition, cut to 1,024 characters.
        condition_at: of that condition.
    """

    uid: str
    namespace: str
    name: str
    job_uid: str | None
    job_id: str | None
    queue: str
    phase: str
    condition: str
    reason: str
    message: str
    condition_at: datetime | None
    min_member: int
    running: int
    succeeded: int
    failed: int
    created_at: datetime | None
    resource_version: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a worker says that it is: `done` of `total`, 0 <= done <= total."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ObservedPod:
    """A pod of a Job.

    Attributes:
        job_uid: of the Job that owns it: two Jobs may carry one label and one name, one after the other (case S-24).
        job_version: `status.version` of the Job when the pod was made.
        retry_count: `status.retryCount` of the Job when the pod was made.
        task: name of its task, "" on a pod that is not Volcano's.
        index: its place among the task's replicas.
        run_index: which index of its task it was given to run, None while it has not had its turn or needs none.
        gates: names of its scheduling gates, in their order; no scheduler looks at it while there is one.
        exit_code: of the first container that failed, else of the first that ended.
        reason: why it is in trouble: the pod's own reason (Evicted, NodeLost), else a container's (OOMKilled, Error,
            CrashLoopBackOff, ImagePullBackOff), else why it is not scheduled; "" while all is well.
        message: goes with the reason, cut to 1,024 characters.
        waiting_reason: of the first waiting container, harmless ones such as ContainerCreating too.
        disruption: reason of the condition DisruptionTarget, for example PreemptionByScheduler; "" without one.
        restarts: of all its containers.
        resources: whole cards and other extended resources that it holds, by resource name.
        progress: as its worker last wrote it; None while there is none that can be read.
        progress_is_strange: what the worker wrote cannot be read.
        started_at: when its first container started.
        ended_at: when its last container ended, only for a pod that Succeeded or Failed.
    """

    uid: str
    namespace: str
    name: str
    job_id: str | None
    job_uid: str | None
    job_name: str
    job_version: int | None
    retry_count: int | None
    task: str
    index: int | None
    run_index: int | None
    gates: tuple[str, ...]
    phase: str
    node: str | None
    exit_code: int | None
    reason: str
    message: str
    waiting_reason: str
    disruption: str
    restarts: int
    resources: dict[str, int]
    progress: Progress | None
    progress_is_strange: bool
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    deleting: bool
    resource_version: str


@dataclass(frozen=True, slots=True)
class ObservedQueue:
    """A Volcano Queue; resource lists are quantities as texts by resource name.

    Attributes:
        state: Open, Closed, Closing or Unknown; "" while its controller has not seen the Queue.
        reclaimable: True also when the field is not set, as Volcano reads it.
        allocated: up to a second late, and frozen while the scheduler is down.
    """

    uid: str
    name: str
    state: str
    weight: int
    priority: int
    capability: dict[str, str]
    deserved: dict[str, str]
    guarantee: dict[str, str]
    reclaimable: bool
    parent: str
    allocated: dict[str, str]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class ObservedNode:
    """A node. It has no resource_version: nodes report every few minutes, and most reports change nothing of this.

    Attributes:
        ready: its condition Ready is True.
        unschedulable: it is cordoned.
        allocatable: quantities as texts by resource name.
    """

    name: str
    ready: bool
    unschedulable: bool
    allocatable: dict[str, str]
    taints: tuple[Taint, ...]
