"""The metadata of every table, with every module of tables imported."""

from sqlmodel import SQLModel

import app.auth.models
import app.controller.models
import app.jobs.models
import app.queues.models
import app.teams.models
import app.webhooks.models  # noqa: F401  the imports fill the metadata

METADATA = SQLModel.metadata
