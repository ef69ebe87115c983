"""Tables about jobs. The rows face no users; `schemas.py` does."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from app.db import TIME
from app.jobs.dependencies import Condition, Otherwise
from app.jobs.states import TERMINAL, Desired, JobState


def _one_of(column: str, values: list[str]) -> str:
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"


_ZERO: dict[str, Any] = {"default": None, "server_default": text("0")}
"""For columns that an older release does not write."""

_NO: dict[str, Any] = {"default": None, "server_default": text("false")}

_ENDED = _one_of("state", sorted(TERMINAL))


FILTERED = ("state", "name", "queue", "submitted_by")
"""Columns by which lists are filtered."""


def _list_index(column: str) -> Index:
    """The index of a filter, in the order of lists; the other filters are compared without a look at the row."""
    others = [other for other in FILTERED if other != column]
    return Index(f"ix_jobs_team_{column}_id", "team", column, "id", postgresql_include=others)


class JobRow(SQLModel, table=True):
    """One job: what its owner wants (`desired`), what was last seen (`state`), and who works on it (`lock_*`).

    The row is the outbox: `due_at` names the moment from which the controller has to act on it.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(_one_of("state", list(JobState)), name="state"),
        CheckConstraint(_one_of("desired", list(Desired)), name="desired"),
        CheckConstraint(f"({_ENDED}) = (ended_at IS NOT NULL)", name="terminal_has_end"),
        CheckConstraint("(lock_token IS NULL) = (lock_expires_at IS NULL)", name="lock_whole"),
        Index("uq_jobs_k8s_name", "k8s_namespace", "k8s_name", unique=True),
        Index(
            "uq_jobs_idempotency_key",
            "team",
            "idempotency_key",
            unique=True,
            postgresql_where=text("idempotency_key IS NOT NULL"),
        ),
        Index("uq_jobs_live_name", "team", "name", unique=True, postgresql_where=text("ended_at IS NULL")),
        Index("ix_jobs_due_at", "due_at", postgresql_where=text("due_at IS NOT NULL")),
        Index(
            "ix_jobs_held",
            "queue",
            text("priority_rank DESC"),
            "id",
            postgresql_where=text("state = 'held' AND released_at IS NULL AND open_parents = 0"),
        ),
        Index("ix_jobs_dependents_due", "team", "id", postgresql_where=text("dependents_due")),
        Index("ix_jobs_live", "queue", "id", postgresql_where=text("ended_at IS NULL")),
        Index(
            "ix_jobs_in_cluster",
            "ended_at",
            postgresql_where=text("ended_at IS NOT NULL AND k8s_uid IS NOT NULL AND cleaned_at IS NULL"),
        ),
        Index(
            "ix_jobs_queue_deadline_at",
            "queue_deadline_at",
            postgresql_where=text("queue_deadline_at IS NOT NULL AND ended_at IS NULL"),
        ),
        Index("ix_jobs_team_id", "team", "id"),
        *(_list_index(column) for column in FILTERED),
        Index("ix_jobs_state_id", "state", "id"),
        {"comment": "Every job ever accepted"},
    )
    model_config: ClassVar = {"arbitrary_types_allowed": True}

    id: UUID = Field(primary_key=True)
    team: str = Field(sa_type=Text, foreign_key="teams.name")
    name: str = Field(sa_type=Text)
    queue: str = Field(sa_type=Text)
    k8s_namespace: str = Field(sa_type=Text)
    k8s_name: str = Field(sa_type=Text)
    spec: dict[str, Any] = Field(sa_type=JSONB)
    charges: dict[str, int] = Field(sa_type=JSONB, description="Whole units per extended resource, all replicas")
    charged: bool = Field(default=True, description="Whether `charges` stand in team_usage now")
    priority: str = Field(sa_type=Text)
    priority_rank: int = Field(default=0, description="Place of `priority` in the operator's list, lowest first")
    labels: dict[str, str] = Field(default_factory=dict, sa_type=JSONB)
    submitted_by: str = Field(sa_type=Text)

    desired: str = Field(default=Desired.RUN, sa_type=Text)
    state: str = Field(default=JobState.HELD, sa_type=Text)
    reason: str | None = Field(default=None, sa_type=Text)
    message: str | None = Field(default=None, sa_type=Text)
    state_since: datetime | None = Field(
        default=None, sa_type=TIME, description="Since when it is in `state`; null is `created_at`"
    )
    cancel_reason: str | None = Field(default=None, sa_type=Text)
    counts: dict[str, int] = Field(default_factory=dict, sa_type=JSONB, description="Pods by phase, of this attempt")

    idempotency_key: str | None = Field(default=None, sa_type=Text)
    request_hash: bytes | None = Field(default=None, description="SHA-256 of the canonical request")

    attempt: int = Field(default=0, sa_type=Integer, description="Runs so far; 0 before the first")
    attempt_base: int = Field(default=0, sa_column_kwargs=_ZERO, description="Runs before the present Volcano Job")
    whole_base: int = Field(default=0, sa_column_kwargs=_ZERO, description="Runs before the whole job last began anew")
    retries: int = Field(default=0, sa_column_kwargs=_ZERO, description="Further runs that used up `retries.max`")
    resumes: int = Field(default=0, sa_column_kwargs=_ZERO, description="How often it was suspended and went on")
    retry_of: UUID | None = Field(default=None, description="The ended job that this one runs again")
    ending: str | None = Field(default=None, sa_type=Text, description="Why the present run is being brought to an end")
    run_indices: dict[str, list[int]] | None = Field(
        default=None, sa_type=JSONB, description="By task, what the present run is of; null is everything"
    )
    run_started_at: datetime | None = Field(default=None, sa_type=TIME, description="First pod of the present run")
    waited_seconds: float = Field(
        default=0, sa_column_kwargs=_ZERO, description="Of all waiting before the present one, suspension aside"
    )
    ran_seconds: float = Field(default=0, sa_column_kwargs=_ZERO, description="Of the runs before the present one")
    waiting_since: datetime | None = Field(
        default=None, sa_type=TIME, description="Since when the present run waits; null is `created_at`"
    )
    queue_deadline_at: datetime | None = Field(
        default=None, sa_type=TIME, description="When it ends unless a pod has started"
    )
    progress: dict[str, Any] | None = Field(default=None, sa_type=JSONB, description="Of the workers' own counting")
    open_parents: int = Field(
        default=0, sa_column_kwargs=_ZERO, description="Jobs that have to end before this one is released"
    )
    dependents_due: bool = Field(
        default=False, sa_column_kwargs=_NO, description="It has ended, and jobs that wait for it do not know yet"
    )
    alignment_due: bool = Field(
        default=False, sa_column_kwargs=_NO, description="It was changed, and the Volcano Job may not show it yet"
    )
    retired_labels: list[str] = Field(
        default_factory=list,
        sa_type=JSONB,
        sa_column_kwargs={"default": None, "server_default": text("'[]'")},
        description="Keys of labels that its owner took off; the Volcano Job may have them",
    )
    attempted_at: datetime | None = Field(default=None, sa_type=TIME)
    k8s_uid: str | None = Field(default=None, sa_type=Text)
    lock_token: UUID | None = Field(default=None)
    lock_expires_at: datetime | None = Field(default=None, sa_type=TIME)
    due_at: datetime | None = Field(default=None, sa_type=TIME)

    created_at: datetime = Field(sa_type=TIME)
    released_at: datetime | None = Field(default=None, sa_type=TIME)
    submitted_at: datetime | None = Field(default=None, sa_type=TIME)
    started_at: datetime | None = Field(default=None, sa_type=TIME)
    ended_at: datetime | None = Field(default=None, sa_type=TIME)
    recorded_at: datetime | None = Field(
        default=None,
        sa_type=TIME,
        description="When our finalizer was released, after the end was committed",
    )
    cleaned_at: datetime | None = Field(
        default=None,
        sa_type=TIME,
        description="When the Volcano Job was seen to be gone, after the end",
    )


class JobLabelRow(SQLModel, table=True):
    """One label of a job. An index in the form of a table, in the order of lists; triggers on `jobs` keep it.

    No statement but those of the triggers writes to it, and no foreign key checks what they write.
    """

    __tablename__ = "job_labels"

    team: str = Field(sa_type=Text, primary_key=True)
    label: str = Field(sa_type=Text, primary_key=True, description="`key=value`")
    job_id: UUID = Field(primary_key=True)


class JobEventRow(SQLModel, table=True):
    """One thing that happened to a job; written in the transaction that made it true, never changed."""

    __tablename__ = "job_events"
    __table_args__ = (Index("ix_job_events_job_id_id", "job_id", "id"), Index("ix_job_events_team_id", "team", "id"))

    id: int | None = Field(default=None, sa_type=BigInteger, primary_key=True, sa_column_args=[Identity(always=True)])
    job_id: UUID = Field(sa_column_args=[ForeignKey("jobs.id", ondelete="CASCADE")])
    team: str = Field(sa_type=Text)
    at: datetime = Field(sa_type=TIME)
    type: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    reason: str | None = Field(default=None, sa_type=Text)
    message: str | None = Field(default=None, sa_type=Text)


class JobDependencyRow(SQLModel, table=True):
    """One job that another one waits for.

    Its name is not a foreign key: the history of a parent may be removed before that of its children.
    """

    __tablename__ = "job_dependencies"
    __table_args__ = (
        CheckConstraint(_one_of("condition", list(Condition)), name="condition"),
        CheckConstraint(_one_of("otherwise", list(Otherwise)), name="otherwise"),
        Index("ix_job_dependencies_parent_id", "parent_id", postgresql_where=text("settled_at IS NULL")),
    )

    job_id: UUID = Field(primary_key=True, sa_column_args=[ForeignKey("jobs.id", ondelete="CASCADE")])
    place: int = Field(primary_key=True, description="In the job's `after`, from 0")
    parent_id: UUID
    condition: str = Field(sa_type=Text)
    otherwise: str = Field(sa_type=Text)
    settled_at: datetime | None = Field(
        default=None, sa_type=TIME, description="When its end was taken into account; null while it is awaited"
    )


class JobPodRow(SQLModel, table=True):
    """One pod of one attempt of a job, as last seen; kept after the pod is gone."""

    __tablename__ = "job_pods"
    __table_args__ = (Index("ix_job_pods_job_id", "job_id", "attempt", "name"),)

    uid: str = Field(sa_type=Text, primary_key=True)
    job_id: UUID = Field(sa_column_args=[ForeignKey("jobs.id", ondelete="CASCADE")])
    name: str = Field(sa_type=Text)
    attempt: int = Field(sa_type=Integer)
    task: str = Field(sa_type=Text)
    index: int = Field(sa_type=Integer)
    phase: str = Field(sa_type=Text)
    node: str | None = Field(default=None, sa_type=Text)
    exit_code: int | None = Field(default=None, sa_type=Integer)
    reason: str | None = Field(default=None, sa_type=Text)
    message: str | None = Field(default=None, sa_type=Text)
    restarts: int = Field(default=0, sa_type=Integer)
    resources: dict[str, int] = Field(default_factory=dict, sa_type=JSONB)
    progress: dict[str, int] | None = Field(
        default=None, sa_type=JSONB(none_as_null=True), description="`done` of `total`, as its worker says"
    )
    created_at: datetime = Field(sa_type=TIME)
    started_at: datetime | None = Field(default=None, sa_type=TIME)
    ended_at: datetime | None = Field(default=None, sa_type=TIME)
    gone_at: datetime | None = Field(default=None, sa_type=TIME)


class JobLogTailRow(SQLModel, table=True):
    """The last lines of one pod's log, as read when it ended; each line begins with its time and a space."""

    __tablename__ = "job_log_tails"
    __table_args__ = (Index("ix_job_log_tails_job_id", "job_id"),)

    uid: str = Field(sa_type=Text, primary_key=True, description="Of the pod")
    job_id: UUID = Field(sa_column_args=[ForeignKey("jobs.id", ondelete="CASCADE")])
    container: str = Field(sa_type=Text)
    text: bytes = Field(description="As printed, which need not be UTF-8")
    size: int = Field(sa_type=Integer, description="Bytes of `text`")
    truncated: bool = Field(description="Whether the log began earlier")
    complete: bool = Field(description="Whether the pod had ended when it was read")
    read_at: datetime = Field(sa_type=TIME)
