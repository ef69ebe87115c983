"""What routes get handed: the process's resources and one database transaction."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from app import db
from app.db import Sessions, away_as_unavailable
from app.settings import Settings


async def get_settings(request: Request) -> Settings:
    """The settings that `create_app` was given.

    A coroutine although it waits for nothing: FastAPI sends plain functions to a thread, which costs more than they do.
    """
    settings: Settings = request.app.state.settings
    return settings


async def get_sessions(request: Request) -> Sessions:
    """The session maker that `create_app` was given."""
    sessions: Sessions = request.app.state.sessions
    return sessions


async def transaction(sessions: Annotated[Sessions, Depends(get_sessions)]) -> AsyncIterator[AsyncSession]:
    """One transaction: committed when the handler returns, rolled back when it raises."""
    with away_as_unavailable():
        async with sessions.begin() as session:
            yield session


async def reading(sessions: Annotated[Sessions, Depends(get_sessions)]) -> AsyncIterator[AsyncSession]:
    """A session for reads alone, in which each statement stands for itself."""
    with away_as_unavailable():
        async with db.reading(sessions) as session:
            yield session


AppSettings = Annotated[Settings, Depends(get_settings)]
SessionMaker = Annotated[Sessions, Depends(get_sessions)]

# scope="function" commits before the answer is sent. Without it FastAPI runs the code after `yield` once the response
# has gone out: it would answer 201 and then fail to commit (docs/adr).
Transaction = Annotated[AsyncSession, Depends(transaction, scope="function")]
Reading = Annotated[AsyncSession, Depends(reading, scope="function")]
