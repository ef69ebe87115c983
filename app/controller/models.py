"""Tables of the controller: its lease, and the identity of this installation."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from app.db import TIME


class LeaseRow(SQLModel, table=True):
    """Who leads. The epoch goes up with each change of the holder; every write of the controller checks it."""

    __tablename__ = "leases"

    name: str = Field(sa_type=Text, primary_key=True)
    holder: UUID
    epoch: int = Field(sa_type=BigInteger)
    expires_at: datetime = Field(sa_type=TIME)
    status: dict[str, Any] = Field(
        default_factory=dict, sa_type=JSONB, description="What the leader last said of itself: watches and their age"
    )


class InstallationRow(SQLModel, table=True):
    """One row: the id that tells our Volcano Jobs from those of another Pumice on the same cluster."""

    __tablename__ = "installation"
    __table_args__ = (CheckConstraint("one", name="one_row"),)

    one: bool = Field(default=True, primary_key=True)
    id: UUID
    created_at: datetime = Field(sa_type=TIME)
