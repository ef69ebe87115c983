"""How a job's own view shows the jobs that it waits for."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import Field

from app.jobs.dependencies import Condition, Otherwise
from app.jobs.states import TERMINAL, JobState
from app.schema_base import ResponseBody


class DependencyRead(ResponseBody):
    """A job that another one waits or waited for, as it is now."""

    job: UUID
    name: str | None = Field(description="Null when its history is not kept any more")
    state: str | None
    condition: str = Field(description="`succeeded` or `finished`")
    otherwise: str = Field(description="`fail` or `cancel`")
    met: bool | None = Field(description="Whether it ended as it was to; null while it has not ended")


def dependency_read(link: Mapping[str, Any]) -> DependencyRead:
    """An entry of `after` from what `dependency_store.read_links` gives."""
    return DependencyRead(
        job=link["parent_id"],
        name=link["name"],
        state=link["state"],
        condition=Condition(link["condition"]),
        otherwise=Otherwise(link["otherwise"]),
        met=_met(link),
    )


def _met(link: Mapping[str, Any]) -> bool | None:
    if link["state"] is None or JobState(link["state"]) not in TERMINAL:
        return None
    return Condition(link["condition"]) is Condition.FINISHED or JobState(link["state"]) is JobState.SUCCEEDED
