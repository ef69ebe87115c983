"""The filters of the list of jobs, from query parameters."""

from typing import Annotated, Literal

from fastapi import Depends, Query

from app.auth.access import Caller
from app.errors import ValidationError
from app.jobs.states import JobState
from app.jobs.wanted import JobFilter
from app.moments import Moment
from app.validation import invalid

MAXIMUM_LABELS = 8
"""Labels of one list: each takes another walk along an index."""


async def wanted_jobs(
    *,
    caller: Caller,
    team: Annotated[str | None, Query(description="Another team than one's own gives an empty list")] = None,
    state: Annotated[list[JobState] | None, Query(description="Any of these")] = None,
    queue: Annotated[str | None, Query(description="Exactly this one")] = None,
    name: Annotated[str | None, Query(description="Exactly this one")] = None,
    label: Annotated[
        list[str] | None, Query(description=f"`key=value`; all of these, at most {MAXIMUM_LABELS}")
    ] = None,
    submitted_by: Annotated[str | None, Query(description="The subject whose token it came with")] = None,
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


GroupBy = Annotated[
    Literal["state", "queue", "submitted_by"] | None,
    Query(description="Count jobs by this field in the place of listing them: its `limit` most frequent values"),
]


def _labels(texts: list[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or labels.get(key, value) != value:
            words = "A label filter is key=value, and each key stands once"
            raise ValidationError([invalid(("query", "label"), words, "label-filter")])
        labels[key] = value
    if len(labels) > MAXIMUM_LABELS:
        words = f"At most {MAXIMUM_LABELS} labels can be asked for at once"
        raise ValidationError([invalid(("query", "label"), words, "too-many")])
    return labels


WantedJobs = Annotated[JobFilter, Depends(wanted_jobs)]
