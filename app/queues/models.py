"""Tables about queues: what is wanted and what was last seen, side by side."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Integer, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from app.db import TIME


class QueueRow(SQLModel, table=True):
    """A Volcano Queue as the operator wants it. The controller creates and changes it in the cluster."""

    __tablename__ = "queues"
    __table_args__ = (CheckConstraint("weight BETWEEN 1 AND 65535", name="weight"),)

    name: str = Field(sa_type=Text, primary_key=True)
    weight: int = Field(default=1, sa_type=Integer)
    capability: dict[str, str] = Field(default_factory=dict, sa_type=JSONB)
    deserved: dict[str, str] = Field(default_factory=dict, sa_type=JSONB)
    guarantee: dict[str, str] = Field(default_factory=dict, sa_type=JSONB)
    reclaimable: bool = Field(default=True)
    parent: str | None = Field(default=None, sa_type=Text)
    generation: int = Field(default=1, sa_type=Integer, description="Goes up with each change of what is wanted")
    problem: str | None = Field(default=None, sa_type=Text, description="Volcano's words when it refused this queue")
    observed: dict[str, Any] | None = Field(default=None, sa_type=JSONB)
    observed_at: datetime | None = Field(default=None, sa_type=TIME)
    created_at: datetime = Field(sa_type=TIME)
    updated_at: datetime = Field(sa_type=TIME)
