"""The last lines of logs.

Revision: 0004
After: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")  # a migration that cannot get its lock must not block the writers
    op.create_table(
        "job_log_tails",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("container", sa.Text(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_log_tails_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_job_log_tails")),
    )
    op.create_index("ix_job_log_tails_job_id", "job_log_tails", ["job_id"])


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index("ix_job_log_tails_job_id", table_name="job_log_tails")
    op.drop_table("job_log_tails")
