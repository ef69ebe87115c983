"""The statements by which a job names others that have to end first.

No end is missed. A submission locks the jobs that it waits for `FOR KEY SHARE` before it reads their states; a job ends
under a lock `FOR UPDATE` (`transitions.move`), and looks for jobs that wait for it by a statement after that. So either
the submission sees the end, or the end sees the submission. `settlements.mark_missed` finds what got lost all the same.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Uuid, any_, bindparam, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession

from app.jobs.dependencies import Link
from app.jobs.states import JobState
from app.jobs.transitions import job_dependencies, jobs
from app.prepared import Driver, Prepared, copy_rows


@dataclass(frozen=True, slots=True)
class Parent:
    """A job that others may wait for."""

    name: str
    state: JobState


_PARENTS = Prepared(
    select(jobs.c.id, jobs.c.name, jobs.c.state)
    .where(jobs.c.team == bindparam("team"), jobs.c.id == any_(bindparam("ids", type_=ARRAY(Uuid))))
    .order_by(jobs.c.id)
    .with_for_update(read=True, key_share=True)
)
_COLUMNS = ("job_id", "place", "parent_id", "condition", "otherwise", "settled_at")


async def read_parents(driver: Driver, team: str, ids: Collection[UUID]) -> dict[UUID, Parent]:
    """Those of the jobs that the team has; until the transaction ends, none of them can end unseen."""
    if not ids:
        return {}
    rows = await _PARENTS.fetch(driver, {"team": team, "ids": sorted(ids)})
    return {row["id"]: Parent(row["name"], JobState(row["state"])) for row in rows}


async def insert_links(driver: Driver, links: Mapping[UUID, Sequence[Link]], at: datetime) -> None:
    """Write what jobs wait for, by the job's id; what has ended already is settled."""
    rows = [
        {
            "job_id": job_id,
            "place": link.place,
            "parent_id": link.parent_id,
            "condition": link.condition,
            "otherwise": link.otherwise,
            "settled_at": None if link.open else at,
        }
        for job_id, of_job in links.items()
        for link in of_job
    ]
    if rows:
        await copy_rows(driver, job_dependencies, _COLUMNS, rows)


async def read_links(session: AsyncSession, job_id: UUID) -> list[dict[str, Any]]:
    """What one job waits or waited for, in its order, with what these jobs are now."""
    statement = (
        select(
            job_dependencies.c.parent_id,
            job_dependencies.c.condition,
            job_dependencies.c.otherwise,
            jobs.c.name,
            jobs.c.state,
        )
        .select_from(job_dependencies.outerjoin(jobs, jobs.c.id == job_dependencies.c.parent_id))
        .where(job_dependencies.c.job_id == job_id)
        .order_by(job_dependencies.c.place)
    )
    return [dict(row) for row in (await session.execute(statement)).mappings()]
