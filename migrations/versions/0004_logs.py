"""The last lines of logs.

Revision: 0004
After: 0003
"""

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
