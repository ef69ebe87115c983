"""Every long-lived object of a process, opened and closed in one place."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from app.db import Sessions, create_engine, create_sessions
from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Resources:
    """What the parts of a process share."""

    settings: Settings
    engine: AsyncEngine
    sessions: Sessions


@asynccontextmanager
async def open_resources(settings: Settings) -> AsyncIterator[Resources]:
    """Open them, and close them at the end. Connects to nothing by itself: the database may come later."""
    engine = create_engine(settings)
    try:
        yield Resources(settings=settings, engine=engine, sessions=create_sessions(engine))
    finally:
        await engine.dispose()
