"""The Volcano Job of a stored job, for people to read. The cluster is not asked."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from sqlalchemy import Uuid, column, select
from sqlalchemy import table as named_table
from sqlalchemy.ext.asyncio import AsyncSession

from app.cluster.manifest import ManifestInput, render_masked
from app.cluster.pod_template import Object
from app.errors import NotFound
from app.jobs import store
from app.settings import Settings

# the controller owns this table, and insight stands below the controller
_installation = named_table("installation", column("id", Uuid))


async def manifest_of(session: AsyncSession, settings: Settings, job_id: UUID, team: str | None) -> Object:
    """Return the Volcano Job as submitted, with env values as `***`.

    It is rendered from the stored spec by the code that the controller submits with. Before the job's release this is
    what will be submitted; the installation's label is missing until a controller has run for the first time.

    Raises:
        NotFound: there is no such job in `team` (None: any team).
    """
    row = await store.find(session, job_id, team)
    if row is None:
        raise NotFound("There is no such job.")
    installation_id: UUID | None = (await session.execute(select(_installation.c.id))).scalar_one_or_none()
    stored: Any = SimpleNamespace(**row)
    return render_masked(
        ManifestInput.of(
            stored,
            installation_id=installation_id,
            priorities=settings.priorities,
            ttl_seconds=settings.job_ttl_seconds,
        )
    )
