"""Which jobs a list is about, and which part of it a page shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select

from app.jobs.states import JobState


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a list shows; None and empty leave a member out. `teams` are all to which a job must belong."""

    teams: frozenset[str] = frozenset()
    states: Sequence[JobState] = ()
    queue: str | None = None
    name: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    submitted_by: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    @property
    def team(self) -> str | None:
        """The only team whose jobs are wanted; None is any."""
        return min(self.teams, default=None)

    @property
    def nobody(self) -> bool:
        """Whether no job can be meant, since none belongs to two teams."""
        return len(self.teams) > 1

    @property
    def stored_labels(self) -> list[str]:
        """The labels as `job_labels` has them. A key has no `=` in it."""
        return [f"{key}={value}" for key, value in sorted(self.labels.items())]

    @property
    def columns(self) -> dict[str, str]:
        """The columns of a job that must have one value; states and team aside."""
        given = {"name": self.name, "submitted_by": self.submitted_by, "queue": self.queue}
        return {column: value for column, value in given.items() if value is not None}

    def within(self, key: ColumnElement[UUID]) -> list[ColumnElement[bool]]:
        """The bounds of the time of creation.

        A job's id begins with that time, so they are bounds of the id, and every index that ends in it serves them.
        """
        bounds: list[ColumnElement[bool]] = []
        if self.created_after is not None:
            bounds.append(key >= first_id_at(self.created_after))
        if self.created_before is not None:
            bounds.append(key < first_id_at(self.created_before))
        return bounds


@dataclass(frozen=True, slots=True)
class Cut:
    """Which part of a list a page shows: up to `limit` jobs behind the id `after`."""

    newest_first: bool
    after: UUID | None
    limit: int

    def first(self, statement: Select[Any], key: ColumnElement[UUID], limit: int | None = None) -> Select[Any]:
        """The first rows of a statement, in the order of its ids."""
        return statement.order_by(key.desc() if self.newest_first else key).limit(limit or self.limit)

    def behind(self, key: ColumnElement[UUID]) -> list[ColumnElement[bool]]:
        """The condition that a job stands behind the page before."""
        if self.after is None:
            return []
        return [key < self.after if self.newest_first else key > self.after]

    def from_here(self, key: ColumnElement[UUID], other: ColumnElement[UUID]) -> ColumnElement[bool]:
        """The condition that a job stands where another does, or behind it."""
        return key <= other if self.newest_first else key >= other


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def first_id_at(moment: datetime) -> UUID:
    """The least UUIDv7 of the first whole millisecond at or after a moment (RFC 9562, 5.7)."""
    age = moment - _EPOCH
    microseconds = (age.days * 86_400 + age.seconds) * 1_000_000 + age.microseconds
    milliseconds = max(0, -(-microseconds // 1000))
    return UUID(int=milliseconds << 80)
