"""Tables about teams and their quotas."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from app.db import TIME


class TeamRow(SQLModel, table=True):
    """A team: its namespace in the cluster and its default queue. Accepting a job locks this row."""

    __tablename__ = "teams"
    __table_args__ = (Index("uq_teams_namespace", "namespace", unique=True),)

    name: str = Field(sa_type=Text, primary_key=True)
    namespace: str = Field(sa_type=Text)
    default_queue: str | None = Field(default=None, sa_type=Text, foreign_key="queues.name")
    created_at: datetime = Field(sa_type=TIME)
    updated_at: datetime = Field(sa_type=TIME)


class TeamQueueRow(SQLModel, table=True):
    """A queue granted to a team."""

    __tablename__ = "team_queues"
    __table_args__ = (Index("ix_team_queues_queue", "queue"),)

    team: str = Field(sa_type=Text, primary_key=True, sa_column_args=[ForeignKey("teams.name", ondelete="CASCADE")])
    queue: str = Field(sa_type=Text, primary_key=True, foreign_key="queues.name")


class TeamQuotaRow(SQLModel, table=True):
    """What a team may have outstanding; absent until it is first put."""

    __tablename__ = "team_quotas"
    __table_args__ = (CheckConstraint("on_over_quota IN ('reject', 'hold')", name="on_over_quota"),)

    team: str = Field(sa_type=Text, primary_key=True, sa_column_args=[ForeignKey("teams.name", ondelete="CASCADE")])
    limits: dict[str, dict[str, Any]] = Field(sa_type=JSONB, description="Resource name -> per_job, outstanding")
    max_jobs: int | None = Field(default=None, sa_type=Integer)
    on_over_quota: str = Field(default="reject", sa_type=Text)
    version: int = Field(default=1, sa_type=Integer)
    updated_at: datetime = Field(sa_type=TIME)
    updated_by: str = Field(sa_type=Text)


class TeamUsageRow(SQLModel, table=True):
    """What a team's charged, non-terminal jobs add up to, per resource name; `count/jobs` counts the jobs.

    Kept in the transaction that accepts or ends a job, so it always equals a recount.
    """

    __tablename__ = "team_usage"
    __table_args__ = (CheckConstraint("used >= 0", name="used"),)

    team: str = Field(sa_type=Text, primary_key=True, sa_column_args=[ForeignKey("teams.name", ondelete="CASCADE")])
    resource: str = Field(sa_type=Text, primary_key=True)
    used: int = Field(sa_type=BigInteger)
