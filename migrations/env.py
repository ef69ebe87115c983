"""Alembic's entry: runs the migrations on the connection that `app.migrate` hands over."""

from alembic import context

from migrations.metadata import METADATA

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=METADATA,
    compare_type=True,
    compare_server_default=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
