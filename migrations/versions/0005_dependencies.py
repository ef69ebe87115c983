"""Jobs that wait for other jobs.

Revision: 0005
After: 0004
"""

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
