"""Indexes for every documented filter of jobs, and their labels in the order of lists.

Revision: 0006
After: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_KEYS = ("state", "name", "queue", "submitted_by")

_TRIGGERS = (
    (
        "job_labels_added",
        "AFTER INSERT ON jobs REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT",
        """
        INSERT INTO job_labels (team, label, job_id)
        SELECT fresh.team, each.key || '=' || each.value, fresh.id FROM fresh, jsonb_each_text(fresh.labels) AS each;
        """,
    ),
    (
        "job_labels_removed",
        "AFTER DELETE ON jobs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT",
        """
        DELETE FROM job_labels USING gone, jsonb_each_text(gone.labels) AS each
        WHERE job_labels.team = gone.team AND job_labels.label = each.key || '=' || each.value
          AND job_labels.job_id = gone.id;
        """,
    ),
    (
        "job_labels_changed",
        "AFTER UPDATE OF labels ON jobs FOR EACH ROW WHEN (OLD.labels IS DISTINCT FROM NEW.labels)",
        """
        DELETE FROM job_labels USING jsonb_each_text(OLD.labels) AS each
        WHERE job_labels.team = OLD.team AND job_labels.label = each.key || '=' || each.value
          AND job_labels.job_id = OLD.id;
        INSERT INTO job_labels (team, label, job_id)
        SELECT NEW.team, each.key || '=' || each.value, NEW.id FROM jsonb_each_text(NEW.labels) AS each;
        """,
    ),
    ("job_labels_truncated", "AFTER TRUNCATE ON jobs FOR EACH STATEMENT", "TRUNCATE job_labels;"),
)
"""Name, occasion and body of what keeps job_labels as the labels of jobs are."""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")  # a migration that cannot get its lock must not block the writers
    for name in ("ix_jobs_labels", "ix_jobs_queue_id", "ix_jobs_submitted_by_id"):
        op.drop_index(name, table_name="jobs")
    op.drop_index("ix_jobs_team_state_id", table_name="jobs")
    op.drop_index("ix_jobs_team_name_id", table_name="jobs")
    for key in _KEYS:
        others = [other for other in _KEYS if other != key]
        op.create_index(f"ix_jobs_team_{key}_id", "jobs", ["team", key, "id"], postgresql_include=others)
    # lists read indexes alone where vacuum has been lately; by default it waits until a fifth of the table has changed
    op.execute(
        "ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,"
        " autovacuum_analyze_scale_factor = 0.02)"
    )
    op.add_column("jobs", sa.Column("waited_seconds", sa.Float(), server_default=sa.text("0"), nullable=False))
    op.create_table(
        "job_labels",
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("team", "label", "job_id", name=op.f("pk_job_labels")),
    )
    op.execute(
        "INSERT INTO job_labels (team, label, job_id)"
        " SELECT team, key || '=' || value, id FROM jobs, jsonb_each_text(labels) ORDER BY 1, 2, 3"
    )
    for name, occasion, body in _TRIGGERS:
        op.execute(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$")
        op.execute(f"CREATE TRIGGER {name} {occasion} EXECUTE FUNCTION {name}()")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    for name, _, _ in _TRIGGERS:
        op.execute(f"DROP TRIGGER {name} ON jobs")
        op.execute(f"DROP FUNCTION {name}()")
    op.drop_table("job_labels")
    op.drop_column("jobs", "waited_seconds")
    op.execute(
        "ALTER TABLE jobs RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor,"
        " autovacuum_analyze_scale_factor)"
    )
    for key in _KEYS:
        op.drop_index(f"ix_jobs_team_{key}_id", table_name="jobs")
    op.create_index("ix_jobs_team_name_id", "jobs", ["team", "name", "id"])
    op.create_index("ix_jobs_team_state_id", "jobs", ["team", "state", "id"])
    op.create_index("ix_jobs_submitted_by_id", "jobs", ["submitted_by", "id"])
    op.create_index("ix_jobs_queue_id", "jobs", ["queue", "id"])
    op.create_index(
        "ix_jobs_labels", "jobs", ["labels"], postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"}
    )
