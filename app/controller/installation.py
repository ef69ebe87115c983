"""The identity of this installation, made once and kept in Postgres."""

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from app.controller.models import InstallationRow
from app.db import Sessions, new_id, table

installation = table(InstallationRow)


async def installation_id(sessions: Sessions) -> UUID:
    """The id that all controllers of this database share; whoever asks first makes it."""
    async with sessions.begin() as session:
        made = insert(installation).values(one=True, id=new_id(), created_at=func.now())
        await session.execute(made.on_conflict_do_nothing())
        found: UUID = (await session.execute(select(installation.c.id))).scalar_one()
    return found
