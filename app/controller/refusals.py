"""What an answer to a create call means for the job (the design's step S3). Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum

from app.cluster.errors import (
    AlreadyExists,
    ClusterError,
    ClusterThrottled,
    Conflict,
    NotFound,
    Rejected,
    RightMissing,
    Unauthorized,
)

RIGHT_MISSING = "ClusterRightMissing"
"""Why a job waits while the service itself may not do what the job needs."""

# Volcano v1.15.1, pkg/webhooks/admission/jobs/validate (volcano-facts 3.1)
_QUEUE_NOT_OPEN = re.compile(r"can only submit job to queue with state `?Open`?")
_QUEUE_MISSING = "unable to find job queue"
_NAMESPACE_MISSING = re.compile(r'namespaces "[^"]*" not found')
_NAMESPACE_ENDING = "because it is being terminated"


class Outcome(StrEnum):
    """What is to be done after a create call that gave no Job."""

    EXISTS = "exists"  # somebody made it: read it
    REFUSED = "refused"  # for good
    HELD = "held"  # the queue or the namespace is not ready; the window decides anew, or it is due later
    LATER = "later"  # busy or away, and surely not taken
    UNKNOWN = "unknown"  # it may have been taken: leave the lease to run out


@dataclass(frozen=True, slots=True)
class Refusal:
    """An outcome with what the job's owner is told."""

    outcome: Outcome
    reason: str | None = None
    message: str | None = None
    retry_after_seconds: float | None = None


def read(error: ClusterError) -> Refusal:
    """Say what an error of the create call means."""
    words = error.message
    if isinstance(error, AlreadyExists):
        return Refusal(Outcome.EXISTS)
    if isinstance(error, RightMissing):
        return Refusal(Outcome.HELD, RIGHT_MISSING, words)
    if isinstance(error, Rejected | NotFound):
        return _refused(error, words)
    if isinstance(error, ClusterThrottled | Conflict | Unauthorized):
        return Refusal(Outcome.LATER, retry_after_seconds=error.retry_after_seconds)
    if error.outcome_unknown:
        return Refusal(Outcome.UNKNOWN, retry_after_seconds=error.retry_after_seconds)
    return Refusal(Outcome.LATER, retry_after_seconds=error.retry_after_seconds)


def _refused(error: ClusterError, words: str) -> Refusal:
    if _QUEUE_NOT_OPEN.search(words):
        return Refusal(Outcome.HELD, "QueueNotOpen", words)
    if _QUEUE_MISSING in words:
        return Refusal(Outcome.HELD, "QueueMissing", words)
    if _NAMESPACE_MISSING.search(words) or _NAMESPACE_ENDING in words:
        return Refusal(Outcome.HELD, "NamespaceMissing", words)
    if isinstance(error, NotFound):
        # no such kind: Volcano is not installed (yet)
        return Refusal(Outcome.HELD, "VolcanoMissing", "The cluster does not know Volcano Jobs: is Volcano installed?")
    return Refusal(Outcome.REFUSED, "RejectedByCluster", words)
