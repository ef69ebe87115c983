"""Runs of a job: retries, suspension, deadlines and progress.

Revision: 0002
After: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")  # a migration that cannot get its lock must not block the writers
    zero = sa.text("0")
    columns = (
        sa.Column("state_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempt_base", sa.Integer(), server_default=zero, nullable=False),
        sa.Column("whole_base", sa.Integer(), server_default=zero, nullable=False),
        sa.Column("retries", sa.Integer(), server_default=zero, nullable=False),
        sa.Column("resumes", sa.Integer(), server_default=zero, nullable=False),
        sa.Column("retry_of", sa.Uuid(), nullable=True),
        sa.Column("ending", sa.Text(), nullable=True),
        sa.Column("run_indices", postgresql.JSONB(), nullable=True),
        sa.Column("run_started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ran_seconds", sa.Float(), server_default=zero, nullable=False),
        sa.Column("waiting_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("queue_deadline_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("progress", postgresql.JSONB(), nullable=True),
    )
    for column in columns:
        op.add_column("jobs", column)
    op.create_index(
        "ix_jobs_queue_deadline_at",
        "jobs",
        ["queue_deadline_at"],
        postgresql_where=sa.text("queue_deadline_at IS NOT NULL AND ended_at IS NULL"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index("ix_jobs_queue_deadline_at", table_name="jobs")
    for name in (
        *("progress", "queue_deadline_at", "waiting_since", "ran_seconds", "run_started_at", "run_indices", "ending"),
        *("retry_of", "resumes", "retries", "whole_base", "attempt_base", "state_since"),
    ):
        op.drop_column("jobs", name)
