"""Webhooks. The order of events needs nothing here: docs/adr/0015.

Revision: 0003
After: 0002
"""

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
