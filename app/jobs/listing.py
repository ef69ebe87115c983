"""Pages of jobs under filters, such that no page walks through the jobs it does not show (docs/reading.md).

Every filter has an index that ends in the id, and so in the order of the list, within a team; it holds the columns of
the other filters too. Three cases need more than one walk along an index: several states; labels together with other
filters; and any team's jobs. There the first jobs of each walk are found, and of these the first ones.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, any_, false, func, literal, select, text, true, union_all
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from app.db import table
from app.jobs.models import JobLabelRow
from app.jobs.states import JobState
from app.jobs.store import SHOWN, Row
from app.jobs.transitions import jobs
from app.jobs.wanted import Cut, JobFilter
from app.teams.models import TeamRow

job_labels = table(JobLabelRow)
teams = table(TeamRow)

PLAN_FOR_THE_VALUES = text("SET LOCAL plan_cache_mode = force_custom_plan")


async def list_jobs(
    session: AsyncSession | AsyncConnection, wanted: JobFilter, *, newest_first: bool, after: UUID | None, limit: int
) -> list[Row]:
    """Up to `limit` jobs behind the id `after`; ids sort by the time of creation.

    Args:
        session: in a transaction.
        wanted: the filters.
        newest_first: else the oldest.
        after: the last id of the page before.
        limit: of the page.
    """
    # which index is best depends on the values: whether a label is on every second job or on three
    await session.execute(PLAN_FOR_THE_VALUES)
    rows = await session.execute(list_statement(wanted, Cut(newest_first, after, limit)))
    return [dict(row) for row in rows.mappings()]


def list_statement(wanted: JobFilter, cut: Cut) -> Select[Any]:
    """The statement behind `list_jobs`; tests look at its plans.

    First the ids of the page, mostly from indexes alone; then the rows.
    """
    shown = jobs.alias("shown").c  # by another name, so that nothing of the subquery is taken for this one's
    page = func.array(ids_statement(wanted, cut).scalar_subquery())
    return cut.first(select(*(shown[name] for name in SHOWN)).where(shown.id == any_(page)), shown.id)


def ids_statement(wanted: JobFilter, cut: Cut) -> Select[Any]:
    """The ids of a page, in its order."""
    if wanted.nobody:
        return select(jobs.c.id).where(false())
    if wanted.team is None and (wanted.columns or wanted.labels):
        return _of_each_team(wanted, cut)
    return _of_each_state(wanted, cut, None if wanted.team is None else literal(wanted.team))


def _of_each_team(wanted: JobFilter, cut: Cut) -> Select[Any]:
    """The ids of a page of any team's jobs: one walk for each team that has such jobs at all."""
    has = _anchor(wanted, teams.c.name).limit(1).lateral("has")
    walk = _of_each_state(wanted, cut, teams.c.name).lateral("walk")
    return cut.first(select(walk.c.id).select_from(teams.join(has, true()).join(walk, true())), walk.c.id)


def _anchor(wanted: JobFilter, team: ColumnElement[str]) -> Select[Any]:
    """Whatever of a team has the one of the filters' values that is likely to be the rarest.

    Postgres does not know which team has which values: without it, it may look for a user's jobs of one state among all
    jobs of that state, in each team that the user has nothing to do with.
    """
    if wanted.labels and wanted.name is None:
        rows = job_labels.c
        return select(literal(1)).where(rows.team == team, rows.label == wanted.stored_labels[0])
    column, value = next(iter(wanted.columns.items()))
    return select(literal(1)).where(jobs.c.team == team, jobs.c[column] == value)


def _of_each_state(wanted: JobFilter, cut: Cut, team: ColumnElement[str] | None) -> Select[Any]:
    """The ids of a page of one team's jobs, or of all: one walk for each state that is wanted."""
    states: list[JobState | None] = [*sorted(set(wanted.states))]
    walks = [_walk(wanted, cut, team, state) for state in states or [None]]
    if len(walks) == 1:
        return walks[0]
    found = union_all(*(select(walk.subquery().c.id) for walk in walks)).subquery()
    return cut.first(select(found.c.id), found.c.id)


def _walk(wanted: JobFilter, cut: Cut, team: ColumnElement[str] | None, state: JobState | None) -> Select[Any]:
    """The ids of a page of one team's jobs, or of all, in one state or any."""
    compared = [jobs.c[column] == value for column, value in wanted.columns.items()]
    if state is not None:
        compared.append(jobs.c.state == state)
    conditions: list[ColumnElement[bool]] = []
    keys: list[ColumnElement[UUID]] = []
    if compared or not wanted.labels:
        conditions += compared if team is None else [*compared, jobs.c.team == team]
        keys.append(jobs.c.id)
    for label in wanted.stored_labels:
        rows = job_labels.alias().c
        conditions += [rows.team == team, rows.label == label]
        keys.append(rows.job_id)
    for key in keys:
        # of each: Postgres knows by itself that equal ids have the same order, and not that they have the same bounds
        conditions += [*wanted.within(key), *cut.behind(key)]
        if len(keys) > 1 and team is not None:
            conditions += [_reached(wanted, cut, team, label, key) for label in wanted.stored_labels]
    conditions += [key == keys[0] for key in keys[1:]]
    return cut.first(select(keys[0].label("id")).where(*conditions).correlate(teams), keys[0])


def _reached(
    wanted: JobFilter, cut: Cut, team: ColumnElement[str], label: str, key: ColumnElement[UUID]
) -> ColumnElement[bool]:
    """The condition that a job stands at or behind the first one with a label.

    What has a label is often of one time, and Postgres takes it for spread over all: it may walk through everything
    that is newer, to join it.
    """
    rows = job_labels.alias()
    of_label = [rows.c.team == team, rows.c.label == label, *wanted.within(rows.c.job_id), *cut.behind(rows.c.job_id)]
    first = cut.first(select(rows.c.job_id).where(*of_label), rows.c.job_id, limit=1)
    return cut.from_here(key, first.correlate(teams).scalar_subquery())
