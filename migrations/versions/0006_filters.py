"""Indexes for every documented filter of jobs.

Revision: 0006
After: 0005
"""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
