"""The filters of the list of jobs, from query parameters."""

from typing import Annotated

from fastapi import Depends, Query

from app.auth.access import Caller
from app.errors import ValidationError
from app.jobs.states import JobState
from app.jobs.store import JobFilter
from app.moments import Moment
from app.validation import invalid


async def wanted_jobs(
    *,
    caller: Caller,
    team: Annotated[str | None, Query(description="Another team than one's own gives an empty list")] = None,
    state: Annotated[list[JobState] | None, Query(description="Any of these")] = None,
    queue: str | None = None,
    name: str | None = None,
    label: Annotated[list[str] | None, Query(description="`key=value`; all of these")] = None,
    submitted_by: str | None = None,
    created_after: Annotated[Moment | None, Query(description="At or after this time, with its zone")] = None,
    created_before: Annotated[Moment | None, Query(description="Before this time, with its zone")] = None,
) -> JobFilter:
    """What a caller wants to see, within what the caller may see."""
    return JobFilter(
        teams=frozenset(name for name in (team, caller.team) if name is not None),
        states=state or (),
        queue=queue,
        name=name,
        labels=_labels(label or []),
        submitted_by=submitted_by,
        created_after=created_after,
        created_before=created_before,
    )


def _labels(texts: list[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or labels.get(key, value) != value:
            words = "A label filter is key=value, and each key stands once"
            raise ValidationError([invalid(("query", "label"), words, "label-filter")])
        labels[key] = value
    return labels


WantedJobs = Annotated[JobFilter, Depends(wanted_jobs)]
