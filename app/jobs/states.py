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


TERMINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.LOST})
"""States that never change."""

LIVE = frozenset(JobState) - TERMINAL

_ENDS = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.LOST})
_SEEN = frozenset({JobState.PENDING, JobState.RUNNING})

MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.HELD: frozenset({JobState.SUBMITTING, JobState.SUSPENDED, JobState.CANCELLED, JobState.FAILED}),
    # back to held when the API server surely did not take the Job (429, 503)
    JobState.SUBMITTING: _SEEN | _ENDS | {JobState.HELD, JobState.CANCELLING, JobState.SUSPENDING},
    JobState.PENDING: _ENDS | {JobState.RUNNING, JobState.CANCELLING, JobState.SUSPENDING},
    # back to pending: Volcano itself takes a running Job back when its pods are lost (volcano-facts 2.3)
    JobState.RUNNING: _ENDS | {JobState.PENDING, JobState.CANCELLING, JobState.SUSPENDING},
    JobState.SUSPENDING: _ENDS | {JobState.SUSPENDED, JobState.CANCELLING},
    JobState.SUSPENDED: frozenset({JobState.HELD, JobState.CANCELLING, JobState.CANCELLED}),
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


def after_cancel(state: JobState) -> JobState:
    """The state of a live job right after its owner cancelled it.

    A held job never reached the cluster and is cancelled at once; any other is cancelling until its last pod is gone.
    """
    return JobState.CANCELLED if state is JobState.HELD else JobState.CANCELLING
