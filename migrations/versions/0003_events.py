"""The order of events across transactions, and webhooks.

Revision: 0003
After: 0002
"""

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
