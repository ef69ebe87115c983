"""HTTP routes that explain what happens to a job."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter

from app.auth.access import Caller
from app.dependencies import AppSettings, Transaction
from app.insight.manifest import manifest_of

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.get("/jobs/{job_id}/manifest")
async def read_manifest(job_id: UUID, caller: Caller, session: Transaction, settings: AppSettings) -> dict[str, Any]:
    """The Volcano Job as submitted, with env values as `***`."""
    return await manifest_of(session, settings, job_id, caller.team)
