"""Lists of jobs against a plain reading of their filters, over a history with every kind of frequency."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, func, select, text, update

from app.db import Sessions
from app.jobs.listing import job_labels, list_jobs
from app.jobs.transitions import jobs
from app.jobs.wanted import JobFilter
from tests.db.jobs.long_history import fill, lists

ROWS = 1_500


def plainly(row: Any, wanted: JobFilter) -> bool:
    """Whether a list shows a job, as `docs/reading.md` says it."""
    return (
        wanted.teams in (set(), {row.team})
        and (not wanted.states or row.state in wanted.states)
        and all(getattr(row, name) == value for name, value in wanted.columns.items())
        and wanted.labels.items() <= row.labels.items()
        and (wanted.created_after is None or row.created_at >= wanted.created_after)
        and (wanted.created_before is None or row.created_at < wanted.created_before)
    )


@pytest.mark.parametrize("filters", [0, 1, 2])
async def test_a_list_has_what_its_filters_say_and_nothing_else(sessions: Sessions, filters: int) -> None:
    await fill(sessions, rows=ROWS)
    async with sessions() as session:
        everything = (await session.execute(select(jobs).order_by(jobs.c.id))).all()
        middle = everything[ROWS // 2].id
        shown = 0
        for number, (name, wanted) in enumerate(lists(filters, ROWS)):
            newest_first, after = bool(number % 2), middle if number % 3 else None
            right = [row.id for row in everything if plainly(row, wanted)]
            right = [one for one in right if after is None or (one < after if newest_first else one > after)]
            right = sorted(right, reverse=newest_first)[:20]
            found = await list_jobs(session, wanted, newest_first=newest_first, after=after, limit=20)
            assert [row["id"] for row in found] == right, name
            shown += len(right)
    assert shown > 0


async def test_pages_join_without_gaps(sessions: Sessions) -> None:
    await fill(sessions, rows=ROWS)
    wanted = JobFilter(labels={"stage": "production"}, states=["failed", "cancelled", "lost"])  # type: ignore[list-item]
    async with sessions() as session:
        whole = [row["id"] for row in await list_jobs(session, wanted, newest_first=True, after=None, limit=500)]
        after: UUID | None = None
        seen: list[UUID] = []
        while page := await list_jobs(session, wanted, newest_first=True, after=after, limit=7):
            seen += [row["id"] for row in page]
            after = seen[-1]
    assert len(whole) > 50
    assert seen == whole


async def test_labels_follow_every_change_of_jobs(sessions: Sessions) -> None:
    """Whoever writes them: a submission, a bulk of them, a change, or hands in the database."""
    await fill(sessions, rows=30)
    kept = select(job_labels.c.job_id, job_labels.c.label)
    meant = text("SELECT id, key || '=' || value FROM jobs, jsonb_each_text(labels)")
    one = select(jobs.c.id).order_by(jobs.c.id).limit(1).scalar_subquery()
    async with sessions.begin() as session:
        for change in (
            update(jobs).values(labels={"stage": "new", "a=b": "=c="}).where(jobs.c.id == one),
            update(jobs).values(labels={}).where(jobs.c.state == "running"),
            update(jobs).values(labels=jobs.c.labels, message="untouched"),
            delete(jobs).where(jobs.c.id == one),
        ):
            await session.execute(change)
            rows = {tuple(row) for row in await session.execute(kept)}
            assert rows == {tuple(row) for row in await session.execute(meant)}
            assert rows
        await session.execute(text("TRUNCATE jobs CASCADE"))
        assert (await session.execute(select(func.count()).select_from(job_labels))).scalar_one() == 0
