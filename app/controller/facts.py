"""What `decide` is told: the row, and what the cluster shows of it. Frozen and free of I/O."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.cluster.names import TURN_GATE
from app.cluster.observed import ObservedJob, ObservedPodGroup, Progress
from app.controller.plan import NO_PLAN, Indices, JobPlan
from app.jobs import attempts
from app.jobs.states import TERMINAL, Desired, Ending, JobState

KILLED = attempts.KILLED
"""Reason of a pod that ended because its run was stopped on our account: no failure of its own."""

FINISHED_PHASES = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
"""Phases of a Volcano Job after which nothing of it runs any more by itself (volcano-facts 2.3, v1.15.1)."""

STOPPING_PHASES = frozenset({"Terminating", "Aborting", "Completing"})
ACTIVE_PHASES = frozenset({"", "Pending", "Running", "Restarting"})
KNOWN_PHASES = FINISHED_PHASES | STOPPING_PHASES | ACTIVE_PHASES


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods of a job by what they do; together at most its replicas."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0

    @property
    def finished(self) -> int:
        """Pods that ended, well or not."""
        return self.succeeded + self.failed

    def as_dict(self) -> dict[str, int]:
        """The form in which the row keeps them."""
        return {
            "pending": self.pending,
            "running": self.running,
            "succeeded": self.succeeded,
            "failed": self.failed,
        }


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job's row, as far as deciding needs it.

    Attributes:
        replicas: pods of all tasks.
        min_available: pods that must run together, of all tasks.
        min_success: pods that have to succeed, if the owner said how many.
        attempt_base: attempts before the present Volcano Job.
        whole_base: attempts before the whole job last began anew; what their pods came to counts no more.
        run_indices: what the present run is of; None is everything.
        ending: why the present run is being brought to an end, unless its owner wished so.
        retries: whole runs that used up the owner's retries.
        run_started_at: when the first pod of the present run started.
        ran_seconds: of the runs before.
        queue_deadline_at: when the job ends unless a pod has started.
    """

    id: UUID
    team: str
    queue: str
    k8s_namespace: str
    k8s_name: str
    desired: Desired
    state: JobState
    reason: str | None
    message: str | None
    counts: Counts
    replicas: int
    min_available: int
    min_success: int | None
    attempt: int
    k8s_uid: str | None
    lock_expires_at: datetime | None
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    recorded_at: datetime | None
    cleaned_at: datetime | None
    plan: JobPlan = NO_PLAN
    attempt_base: int = 0
    whole_base: int = 0
    run_indices: Indices | None = None
    ending: Ending | None = None
    retries: int = 0
    resumes: int = 0
    run_started_at: datetime | None = None
    ran_seconds: float = 0.0
    queue_deadline_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether the state is terminal."""
        return self.state in TERMINAL


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod of the job, as the cluster shows it or as it was last recorded.

    Attributes:
        attempt: which run it belongs to, 1 for the first.
        reason: why it ended (OOMKilled, Error, Evicted, ...) or why it does not start (ImagePullBackOff, ...).
        progress: as its worker last said it, on the pod or over HTTP.
        deleting: it has a deletionTimestamp.
        index: which of the task's indices it runs.
        gates: its scheduling gates.
        gone: it is not in the cluster any more.
    """

    uid: str
    name: str
    task: str
    index: int
    attempt: int
    phase: str
    created_at: datetime
    node: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    message: str | None = None
    restarts: int = 0
    resources: dict[str, int] = field(default_factory=dict, hash=False)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    progress: Progress | None = None
    deleting: bool = False
    gates: tuple[str, ...] = ()
    gone: bool = False

    @property
    def finished(self) -> bool:
        """Whether its containers have all ended."""
        return self.phase in {"Succeeded", "Failed"}

    @property
    def gated(self) -> bool:
        """Whether it waits at our scheduling gate."""
        return TURN_GATE in self.gates

    @property
    def alive(self) -> bool:
        """Whether it holds, or is about to hold, resources of a node."""
        return not self.gone and not self.finished


class Absence(StrEnum):
    """What is known when the caches hold no Volcano Job of ours."""

    UNKNOWN = "unknown"  # the first list is not complete
    UNSEEN = "unseen"  # not in a complete list
    CONFIRMED = "confirmed"  # a GET by name found nothing, or another's object


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that one decision is made from.

    Attributes:
        job: the row.
        volcano_job: the Job with our label and, when the row knows one, its uid; None when there is none.
        absence: counts only when `volcano_job` is None.
        pods: of this Job's uid: those in the cluster, and those that were recorded before.
        pods_complete: whether the first list of pods is complete.
        pod_group: of the Job.
        queue_state: of the Volcano Queue, None when unknown.
        commands: TerminateJob Commands sent so far by this process.
        commanded_at: when the last of them was sent.
    """

    job: JobFacts
    now: datetime
    volcano_job: ObservedJob | None = None
    absence: Absence = Absence.UNKNOWN
    pods: tuple[PodFacts, ...] = ()
    pods_complete: bool = True
    pod_group: ObservedPodGroup | None = None
    queue_state: str | None = None
    commands: int = 0
    commanded_at: datetime | None = None
    retention_seconds: float = 600.0


class Action(StrEnum):
    """What to do in the cluster after the decision is committed."""

    TERMINATE = "terminate"
    ABORT = "abort"
    ADMIT_PODS = "admit-pods"
    DELETE_PODS = "delete-pods"
    CONFIRM_ABSENCE = "confirm-absence"
    RELEASE_FINALIZER = "release-finalizer"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class NextRun:
    """What the next run of a job begins with, once nothing of the present one is left.

    Attributes:
        run_indices: what it is of; None is everything.
        anew: the whole job begins anew, whatever its pods came to.
        ran_seconds: of all runs so far.
    """

    run_indices: Indices | None
    anew: bool
    ran_seconds: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What the row is to say from now on, and what is to be done.

    Attributes:
        k8s_uid: of the Job that is ours.
        recorded: the ended job's Volcano Job no longer carries our finalizer.
        cleaned: the ended job's Volcano Job is gone.
        look_again_seconds: when to decide anew although nothing changes; None is never.
        strange_phase: Volcano showed a phase that we do not know.
        to_admit: pods that ADMIT_PODS lets go from our scheduling gate.
        to_delete: failed pods that DELETE_PODS removes, so that Volcano makes them anew.
        next_run: the present run is over and gone; the job waits for another one, held or suspended.
    """

    state: JobState
    reason: str | None
    message: str | None
    counts: Counts
    attempt: int
    k8s_uid: str | None
    started_at: datetime | None
    ended_at: datetime | None
    actions: tuple[Action, ...] = ()
    recorded: bool = False
    cleaned: bool = False
    look_again_seconds: float | None = None
    strange_phase: bool = False
    ending: Ending | None = None
    retries: int = 0
    run_started_at: datetime | None = None
    to_admit: tuple[PodFacts, ...] = ()
    to_delete: tuple[PodFacts, ...] = ()
    next_run: NextRun | None = None
