"""The states of a job and the moves between them, as data. No I/O."""

from enum import StrEnum


class JobState(StrEnum):
    """Where a job is; `docs/architecture.md` draws the moves."""

    HELD = "held"
    SUBMITTING = "submitting"
    PENDING = "pending"
    RUNNING = "running"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


class Desired(StrEnum):
    """What the job's owner wants of it."""

    RUN = "run"
    SUSPEND = "suspend"
    CANCEL = "cancel"


class Ending(StrEnum):
    """Why the present run of a job is being brought to an end, once its owner's wish is not the reason."""

    RESTART = "restart"
    RESTART_WHOLE = "restart-whole"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    QUEUE_TIMEOUT = "QueueTimeout"


TERMINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.LOST})
"""States that never change."""

LIVE = frozenset(JobState) - TERMINAL

_ENDS = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.LOST})
_SEEN = frozenset({JobState.PENDING, JobState.RUNNING})

WAITING = frozenset({JobState.HELD, JobState.SUBMITTING, JobState.PENDING})
"""States of a job that waits for its turn, unless a pod of its present run has started already."""

STOPPING = frozenset({JobState.CANCELLING, JobState.SUSPENDING})
"""States of a job that is wanted to run no longer and may still have pods."""

MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.HELD: frozenset({JobState.SUBMITTING, JobState.SUSPENDED, JobState.CANCELLED, JobState.FAILED}),
    # back to held when the API server surely did not take the Job (429, 503)
    JobState.SUBMITTING: _SEEN | _ENDS | STOPPING | {JobState.HELD},
    # back to held: the next run of a job begins as the first did, with a Volcano Job of its own (ADR 0016)
    JobState.PENDING: _ENDS | STOPPING | {JobState.RUNNING, JobState.HELD},
    # back to pending: Volcano itself takes a running Job back when its pods are lost (volcano-facts 2.3)
    JobState.RUNNING: _ENDS | STOPPING | {JobState.PENDING, JobState.HELD},
    JobState.SUSPENDING: _ENDS | {JobState.SUSPENDED, JobState.CANCELLING},
    # failed: on hold, it waited for a job that failed
    JobState.SUSPENDED: frozenset({JobState.HELD, JobState.CANCELLING, JobState.CANCELLED, JobState.FAILED}),
    JobState.CANCELLING: frozenset({JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
    JobState.LOST: frozenset(),
}
"""For each state, the states it may become."""


def can_move(source: JobState, target: JobState) -> bool:
    """Whether a job may go from `source` to `target`."""
    return target in MOVES[source]


def sources_of(target: JobState) -> frozenset[JobState]:
    """The states from which a job may become `target`."""
    return frozenset(source for source, targets in MOVES.items() if target in targets)


_NEVER_SENT = {JobState.HELD, JobState.SUSPENDED}


def after_cancel(state: JobState) -> JobState:
    """The state of a live job right after its owner cancelled it.

    A job that has nothing in the cluster is cancelled at once; any other is cancelling until its last pod is gone.
    """
    return JobState.CANCELLED if state in _NEVER_SENT else JobState.CANCELLING


def after_suspend(state: JobState) -> JobState:
    """The state of a live job right after its owner suspended it; `suspending` lasts until its last pod is gone."""
    return JobState.SUSPENDED if state in _NEVER_SENT else JobState.SUSPENDING
