"""Jobs that wait for other jobs, and changes of a job that its Volcano Job does not show yet.

Revision: 0005
After: 0004
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"

_HELD = "state = 'held' AND released_at IS NULL"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")  # a migration that cannot get its lock must not block the writers
    no = sa.text("false")
    columns: tuple[sa.Column[Any], ...] = (
        sa.Column("open_parents", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("dependents_due", sa.Boolean(), server_default=no, nullable=False),
        sa.Column("alignment_due", sa.Boolean(), server_default=no, nullable=False),
        sa.Column("retired_labels", postgresql.JSONB(), server_default=sa.text("'[]'"), nullable=False),
    )
    for column in columns:
        op.add_column("jobs", column)
    op.create_index("ix_jobs_dependents_due", "jobs", ["team", "id"], postgresql_where=sa.text("dependents_due"))
    op.drop_index("ix_jobs_held", table_name="jobs")
    _create_held(f"{_HELD} AND open_parents = 0")
    op.create_table(
        "job_dependencies",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=False),
        sa.Column("condition", sa.Text(), nullable=False),
        sa.Column("otherwise", sa.Text(), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("condition IN ('succeeded', 'finished')", name=op.f("ck_job_dependencies_condition")),
        sa.CheckConstraint("otherwise IN ('fail', 'cancel')", name=op.f("ck_job_dependencies_otherwise")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_dependencies_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "place", name=op.f("pk_job_dependencies")),
    )
    op.create_index(
        "ix_job_dependencies_parent_id",
        "job_dependencies",
        ["parent_id"],
        postgresql_where=sa.text("settled_at IS NULL"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("job_dependencies")
    op.drop_index("ix_jobs_held", table_name="jobs")
    _create_held(_HELD)
    op.drop_index("ix_jobs_dependents_due", table_name="jobs")
    for name in ("retired_labels", "alignment_due", "dependents_due", "open_parents"):
        op.drop_column("jobs", name)


def _create_held(where: str) -> None:
    columns: list[Any] = ["queue", sa.literal_column("priority_rank DESC"), "id"]
    op.create_index("ix_jobs_held", "jobs", columns, postgresql_where=sa.text(where))
