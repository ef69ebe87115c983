"""Alembic's entry: runs the migrations on the connection that `app.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

import app.auth.models
import app.controller.models
import app.jobs.models
import app.queues.models
import app.teams.models  # noqa: F401  the imports fill the metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    compare_type=True,
    compare_server_default=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
