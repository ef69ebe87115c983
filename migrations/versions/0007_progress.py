"""How far each pod says that it is.

Revision: 0007
After: 0006
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")  # a migration that cannot get its lock must not block the writers
    op.add_column("job_pods", sa.Column("progress", postgresql.JSONB(), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("job_pods", "progress")
