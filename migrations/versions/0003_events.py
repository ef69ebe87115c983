"""Webhooks. The order of events needs nothing here: docs/adr/0015.

Revision: 0003
After: 0002
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    _make_webhooks()
    _make_deliveries()


def _make_webhooks() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("events", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("previous_secret", sa.Text(), nullable=True),
        sa.Column("previous_until", TIME, nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", TIME, nullable=True),
        sa.Column("paused_until", TIME, nullable=True),
        sa.Column("served_at", TIME, nullable=False),
        sa.Column("lock_token", sa.Uuid(), nullable=True),
        sa.Column("lock_expires_at", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.CheckConstraint("(lock_token IS NULL) = (lock_expires_at IS NULL)", name=op.f("ck_webhooks_lock_whole")),
        sa.CheckConstraint(
            "(previous_secret IS NULL) = (previous_until IS NULL)", name=op.f("ck_webhooks_previous_whole")
        ),
        sa.ForeignKeyConstraint(["team"], ["teams.name"], name=op.f("fk_webhooks_team"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index("ix_webhooks_team_id", "webhooks", ["team", "id"])
    op.create_index("ix_webhooks_served_at", "webhooks", ["served_at"], postgresql_where=sa.text("enabled"))


def _make_deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("webhook_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", TIME, nullable=True),
        sa.Column("attempted_at", TIME, nullable=True),
        sa.Column("last_status", sa.Integer(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.CheckConstraint("state IN ('pending', 'delivered', 'dead')", name=op.f("ck_webhook_deliveries_state")),
        sa.CheckConstraint(
            "(state = 'pending') = (next_at IS NOT NULL)", name=op.f("ck_webhook_deliveries_pending_has_next")
        ),
        sa.CheckConstraint(
            "(state = 'pending') = (ended_at IS NULL)", name=op.f("ck_webhook_deliveries_ended_has_end")
        ),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name=op.f("fk_webhook_deliveries_webhook_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index("uq_webhook_deliveries_event", "webhook_deliveries", ["webhook_id", "event_id"], unique=True)
    op.create_index("ix_webhook_deliveries_webhook_id_id", "webhook_deliveries", ["webhook_id", "id"])
    op.create_index("ix_webhook_deliveries_webhook_id_state_id", "webhook_deliveries", ["webhook_id", "state", "id"])
    op.create_index(
        "ix_webhook_deliveries_due",
        "webhook_deliveries",
        ["webhook_id", "next_at"],
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_webhook_deliveries_ended_at",
        "webhook_deliveries",
        ["ended_at"],
        postgresql_where=sa.text("ended_at IS NOT NULL"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
