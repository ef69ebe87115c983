"""Changing a job's priority and labels: the wish is written down here, the controller brings the cluster in line."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Sessions, away_as_unavailable
from app.errors import Conflict, Invalid, ValidationError
from app.jobs import validation
from app.jobs.schemas import JobCreate, JobPatch
from app.jobs.states import Desired, JobState
from app.jobs.transitions import jobs, notify, record_event
from app.jobs.unfinished import find_unfinished
from app.jobs.worklist import MAXIMUM_MESSAGE_LENGTH
from app.settings import Settings
from app.validation import NULL_HAS_NO_MEANING, invalid

CHANGE_EVENT = "changed"
MAXIMUM_RETIRED = 1_000
"""Labels that can be taken off one job after its first submission: each is remembered."""


async def change(
    sessions: Sessions, settings: Settings, job_id: UUID, team: str | None, patch: JobPatch
) -> dict[str, Any]:
    """Change a job, and return its row. What is the same as before is no change.

    Raises:
        ValidationError: the change is wrong, or makes the job so.
        NotFound: there is no such job in `team` (None: any team).
        JobFinished: the job has ended.
        Conflict: it is being cancelled.
    """
    faults = list(_faults(patch, settings))
    if faults:
        raise ValidationError(faults)
    with away_as_unavailable():
        async with sessions.begin() as session:
            row = await find_unfinished(session, job_id, team)
            if row["desired"] == Desired.CANCEL:
                raise Conflict("The job is being cancelled and cannot be changed any more.")
            values = changed_columns(row, patch, settings)
            if values:
                await _write(session, row, values)
    return row | values


def _faults(patch: JobPatch, settings: Settings) -> Iterator[Invalid]:
    for name in ("priority", "labels"):
        if name in patch.model_fields_set and getattr(patch, name) is None:
            yield invalid((name,), NULL_HAS_NO_MEANING, "null")
    yield from validation.priority_faults(patch.priority, settings.priorities)
    # a label that is taken off needs a key that labels can have; its value does not matter
    yield from validation.label_faults({key: value or "" for key, value in (patch.labels or {}).items()})


def changed_columns(row: Mapping[str, Any], patch: JobPatch, settings: Settings) -> dict[str, Any]:
    """The columns that a change gives new values; none when nothing changes. Pure.

    Raises:
        ValidationError: the job would become too large.
    """
    priority = patch.priority or row["priority"]
    labels = _merged(row["labels"], patch.labels or {})
    values: dict[str, Any] = {}
    if priority != row["priority"]:
        values |= {"priority": priority, "priority_rank": list(settings.priorities).index(priority)}
    if labels != row["labels"]:
        values |= {"labels": labels, "retired_labels": _retired(row, labels)}
    if values:
        # also the spec, from which later runs are made
        values["spec"] = {**row["spec"], "priority": priority, "labels": labels}
        values["alignment_due"] = row["attempted_at"] is not None
        _check_size(values["spec"])
    return values


def _merged(labels: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    merged = {**labels, **changes}
    return {key: value for key, value in merged.items() if value is not None}


def _retired(row: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """The keys that a Volcano Job may still have and is to lose; none while the job was never sent."""
    if row["attempted_at"] is None:
        return []
    gone = {*row["labels"], *row["retired_labels"]} - labels.keys()
    if len(gone) > MAXIMUM_RETIRED:
        words = f"At most {MAXIMUM_RETIRED} labels can be taken off a job that was submitted to the cluster"
        raise ValidationError([invalid(("labels",), words, "too-many")])
    return sorted(gone)


def _check_size(spec: dict[str, Any]) -> None:
    size = validation.manifest_size(JobCreate.model_validate(spec))
    if size > validation.MAXIMUM_MANIFEST_BYTES:
        words = (
            f"With these labels the job has about {size} bytes as a Kubernetes object, at most "
            f"{validation.MAXIMUM_MANIFEST_BYTES} are possible"
        )
        raise ValidationError([invalid(("labels",), words, "manifest-too-large")])


async def _write(session: AsyncSession, row: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    await session.execute(update(jobs).where(jobs.c.id == row["id"]).values(values))
    state, words = JobState(row["state"]), _words(row, values)
    await record_event(session, row["id"], row["team"], CHANGE_EVENT, state, at=func.now(), message=words)
    await notify(session, row["id"])


def _words(row: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """What changed, by names: values may be long, and labels may be private to their team."""
    before, after = row["labels"], values.get("labels", row["labels"])
    names = ["priority"] if "priority" in values else []
    names += [f"label {key}" for key, value in after.items() if before.get(key) != value]
    gone = [f"label {key}" for key in before if key not in after]
    parts = [f"Changed: {', '.join(names)}" if names else "", f"Taken off: {', '.join(gone)}" if gone else ""]
    return ". ".join(filter(None, parts))[:MAXIMUM_MESSAGE_LENGTH]
