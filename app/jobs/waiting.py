"""What is said of a job that waits, and for how long it may. Pure."""

from datetime import timedelta
from typing import Any

WAITING_FOR_RELEASE = "WaitingForRelease"
WAITING_FOR_QUOTA = "QuotaExceeded"


def queue_deadline(timeout_seconds: int | None, since: Any) -> Any:
    """When a job ends unless a pod has started; None without a `queue_timeout_seconds`.

    Args:
        timeout_seconds: what its owner allows.
        since: the moment from which it waits: a datetime, or Postgres' own, of which the deadline is then made.
    """
    return None if timeout_seconds is None else since + timedelta(seconds=timeout_seconds)


def waited_too_long(timeout_seconds: int | None) -> str:
    """The sentence with which such a job ends."""
    return f"No pod of the job started within its queue_timeout_seconds of {timeout_seconds}."
