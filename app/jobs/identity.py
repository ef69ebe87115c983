"""Under which name a job stands in the cluster. Pure; `store.py` knows which names were used."""

from collections.abc import Collection
from datetime import UTC, datetime
from uuid import UUID

from app.errors import Conflict
from app.jobs.schemas import JobCreate
from app.jobs.validation import MAXIMUM_POD_NAME, longest_suffix

_RANDOM_DIGITS = 15
"""Hexadecimal digits at the end of a UUIDv7 that are surely random (RFC 9562, 5.7)."""


def k8s_name_candidates(spec: JobCreate, job_id: UUID) -> list[str]:
    """The names that a job may have in the cluster, best first.

    The job's own name when it was never used in its namespace: easy to find with kubectl. Else the name, shortened so
    that its longest pod name still fits, and a few digits of the job's id: a Volcano Job of an earlier run may still
    have pods (volcano-sh/volcano#2284), and one Job must never stand for two ids.
    """
    room = MAXIMUM_POD_NAME - len(longest_suffix(spec))
    random = job_id.hex[-_RANDOM_DIGITS:]
    tails = (random[-6:], random[-12:-6], random[:6])
    return [spec.name, *(_joined(spec.name, tail, room) for tail in tails)]


def next_k8s_name(name: str, longest_suffix: str, token: str) -> str | None:
    """A name for the next run of a job, whose pods must not be taken for those of the run before.

    Args:
        name: of the job.
        longest_suffix: what the longest name of a pod adds to it.
        token: random digits.

    Returns:
        None when a pod's suffix leaves no room for the digits: the name of the run before, which is gone, has to do.
    """
    tail, room = f"r{token}", MAXIMUM_POD_NAME - len(longest_suffix)
    return None if room < len(tail) else _joined(name, tail, room)


def _joined(name: str, tail: str, room: int) -> str:
    kept = name[: max(0, room - len(tail) - 1)].rstrip("-")
    return f"{kept}-{tail}" if kept else tail[:room]


def choose_k8s_name(candidates: list[str], used: Collection[str]) -> str:
    """The first candidate that was never used in the namespace.

    Raises:
        Conflict: all were, which takes a job whose task name leaves no room for digits.
    """
    for candidate in candidates:
        if candidate not in used:
            return candidate
    raise Conflict(
        "The job's name was used before, and its task name leaves no room to tell the two apart; change one."
    )


def created_at(job_id: UUID) -> datetime:
    """The moment inside a UUIDv7, to the millisecond: ids and times sort alike because they are the same clock."""
    return datetime.fromtimestamp((job_id.int >> 80) / 1000, UTC)
