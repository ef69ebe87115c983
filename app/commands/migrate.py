"""`pumice migrate`: bring the database to this release's schema."""

import typer

from app.commands.configuration import load_settings
from app.commands.database import migrated
from app.commands.parts import run
from app.commands.stopping import Stopping
from app.db import create_engine
from app.migrate import head_revision
from app.settings import Settings


def migrate() -> None:
    """Migrate the database of `PUMICE_DATABASE_URL`; does nothing when it is up to date."""
    settings = load_settings()
    run(lambda stopping: _migrate(settings, stopping))
    typer.echo(f"The database is at revision {head_revision()}.")


async def _migrate(settings: Settings, stopping: Stopping) -> None:
    engine = create_engine(settings)
    try:
        await stopping.unless_asked(migrated(engine))
    finally:
        await engine.dispose()
