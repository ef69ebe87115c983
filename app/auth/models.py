"""Table of API tokens. Only hashes are stored."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, Text
from sqlmodel import Field, SQLModel

from app.db import TIME


class TokenRow(SQLModel, table=True):
    """An API token of one subject; `team` is null for administrators only."""

    __tablename__ = "tokens"
    __table_args__ = (
        CheckConstraint("role IN ('admin', 'manager', 'submitter', 'viewer')", name="role"),
        CheckConstraint("(role = 'admin') = (team IS NULL)", name="team_of_role"),
        Index("uq_tokens_token_hash", "token_hash", unique=True),
        Index("ix_tokens_team", "team"),
    )

    id: UUID = Field(primary_key=True)
    name: str = Field(sa_type=Text)
    subject: str = Field(sa_type=Text)
    team: str | None = Field(default=None, sa_type=Text, sa_column_args=[ForeignKey("teams.name", ondelete="CASCADE")])
    role: str = Field(sa_type=Text)
    token_hash: bytes = Field(description="SHA-256; the token itself has 256 random bits")
    created_at: datetime = Field(sa_type=TIME)
    created_by: str = Field(sa_type=Text)
    expires_at: datetime | None = Field(default=None, sa_type=TIME)
    revoked_at: datetime | None = Field(default=None, sa_type=TIME)
