"""Tables of webhooks: endpoints, and the messages to each."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from app.db import TIME


class WebhookRow(SQLModel, table=True):
    """An endpoint of a team, and how far in the team's events it is.

    Whoever holds `lock_token` sends to it; nobody else does, so that messages leave one after the other.
    """

    __tablename__ = "webhooks"
    __table_args__ = (
        CheckConstraint("(lock_token IS NULL) = (lock_expires_at IS NULL)", name="lock_whole"),
        CheckConstraint("(previous_secret IS NULL) = (previous_until IS NULL)", name="previous_whole"),
        Index("ix_webhooks_team_id", "team", "id"),
        Index("ix_webhooks_served_at", "served_at", postgresql_where=text("enabled")),
    )
    model_config: ClassVar = {"arbitrary_types_allowed": True}

    id: UUID = Field(primary_key=True)
    team: str = Field(sa_type=Text, sa_column_args=[ForeignKey("teams.name", ondelete="CASCADE")])
    url: str = Field(sa_type=Text)
    description: str = Field(sa_type=Text)
    events: list[str] = Field(sa_type=JSONB, description="Types to send; none is all of them")
    enabled: bool = Field(default=True)
    disabled_reason: str | None = Field(default=None, sa_type=Text, description="Why the service turned it off")
    secret: str = Field(sa_type=Text, description="Sealed, see app/webhooks/sealing.py")
    previous_secret: str | None = Field(default=None, sa_type=Text, description="Signs too, until `previous_until`")
    previous_until: datetime | None = Field(default=None, sa_type=TIME)
    position: int = Field(sa_type=BigInteger, description="Place in the feed up to which events were looked at")
    failures: int = Field(default=0, sa_type=Integer, description="Attempts that failed in a row")
    failing_since: datetime | None = Field(default=None, sa_type=TIME)
    paused_until: datetime | None = Field(default=None, sa_type=TIME)
    served_at: datetime = Field(sa_type=TIME, description="When it last had its turn")
    lock_token: UUID | None = Field(default=None)
    lock_expires_at: datetime | None = Field(default=None, sa_type=TIME)
    created_at: datetime = Field(sa_type=TIME)
    created_by: str = Field(sa_type=Text)
    updated_at: datetime = Field(sa_type=TIME)


class WebhookDeliveryRow(SQLModel, table=True):
    """One message to one endpoint: about an event, or a ping (null). The body is made when it is sent."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        CheckConstraint("state IN ('pending', 'delivered', 'dead')", name="state"),
        CheckConstraint("(state = 'pending') = (next_at IS NOT NULL)", name="pending_has_next"),
        CheckConstraint("(state = 'pending') = (ended_at IS NULL)", name="ended_has_end"),
        Index("uq_webhook_deliveries_event", "webhook_id", "event_id", unique=True),
        Index("ix_webhook_deliveries_webhook_id_id", "webhook_id", "id"),
        Index("ix_webhook_deliveries_webhook_id_state_id", "webhook_id", "state", "id"),
        Index("ix_webhook_deliveries_due", "webhook_id", "next_at", postgresql_where=text("state = 'pending'")),
        Index("ix_webhook_deliveries_ended_at", "ended_at", postgresql_where=text("ended_at IS NOT NULL")),
    )

    id: UUID = Field(primary_key=True)
    webhook_id: UUID = Field(sa_column_args=[ForeignKey("webhooks.id", ondelete="CASCADE")])
    event_id: int | None = Field(default=None, sa_type=BigInteger)
    type: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    attempts: int = Field(default=0, sa_type=Integer)
    next_at: datetime | None = Field(default=None, sa_type=TIME)
    attempted_at: datetime | None = Field(default=None, sa_type=TIME)
    last_status: int | None = Field(default=None, sa_type=Integer)
    last_error: str | None = Field(default=None, sa_type=Text)
    created_at: datetime = Field(sa_type=TIME)
    ended_at: datetime | None = Field(default=None, sa_type=TIME)
