"""Every SQL statement about teams, their queues, quotas and usage."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import table
from app.teams.models import TeamQueueRow, TeamQuotaRow, TeamRow, TeamUsageRow
from app.teams.quota import Quota

teams = table(TeamRow)
team_queues = table(TeamQueueRow)
team_quotas = table(TeamQuotaRow)
team_usage = table(TeamUsageRow)


_GRANTED = (
    select(func.array_agg(aggregate_order_by(team_queues.c.queue, team_queues.c.queue)))
    .where(team_queues.c.team == teams.c.name)
    .scalar_subquery()
)
_WITH_QUEUES = select(teams, _GRANTED.label("queues"))


@dataclass(frozen=True, slots=True)
class Team:
    """A team with the queues granted to it, by name."""

    name: str
    namespace: str
    queues: tuple[str, ...]
    default_queue: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StoredQuota:
    """A team's quota with its version, which goes up with each change."""

    quota: Quota
    version: int
    updated_at: datetime
    updated_by: str


async def insert_team(session: AsyncSession, team: Team) -> bool:
    """Add a team, and say whether it was added: not when its name or its namespace is in use."""
    added = await session.execute(
        upsert(teams)
        .values(
            name=team.name,
            namespace=team.namespace,
            default_queue=team.default_queue,
            created_at=team.created_at,
            updated_at=team.updated_at,
        )
        .on_conflict_do_nothing()
        .returning(teams.c.name)
    )
    if added.one_or_none() is None:
        return False
    await _grant(session, team.name, team.queues)
    return True


async def update_team(session: AsyncSession, team: Team) -> None:
    """Write the queues and the default queue of a team."""
    await session.execute(
        update(teams)
        .where(teams.c.name == team.name)
        .values(default_queue=team.default_queue, updated_at=team.updated_at)
    )
    await session.execute(delete(team_queues).where(team_queues.c.team == team.name))
    await _grant(session, team.name, team.queues)


async def _grant(session: AsyncSession, team: str, queues: Iterable[str]) -> None:
    grants = [{"team": team, "queue": queue} for queue in queues]
    if grants:
        await session.execute(insert(team_queues), grants)


async def lock_team(session: AsyncSession, team: str) -> Team | None:
    """The team, locked until the transaction ends, so that jobs of one team are accepted one after the other.

    What is read after the lock is what the transactions before it have left.
    """
    locked = await session.execute(select(teams.c.name).where(teams.c.name == team).with_for_update(key_share=True))
    return None if locked.one_or_none() is None else await find_team(session, team)


async def find_team(session: AsyncSession, team: str) -> Team | None:
    """The team, without a lock."""
    row = (await session.execute(_WITH_QUEUES.where(teams.c.name == team))).one_or_none()
    return None if row is None else _team(row)


async def list_teams(session: AsyncSession, only: str | None, after: str | None, limit: int) -> list[Team]:
    """Up to `limit` teams by name behind the name `after`; `only` one of them, or all."""
    statement = _WITH_QUEUES.order_by(teams.c.name).limit(limit)
    if only is not None:
        statement = statement.where(teams.c.name == only)
    if after is not None:
        statement = statement.where(teams.c.name > after)
    return [_team(row) for row in await session.execute(statement)]


def _team(row: Row[Any]) -> Team:
    return Team(
        name=row.name,
        namespace=row.namespace,
        queues=tuple(row.queues or ()),
        default_queue=row.default_queue,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


async def missing_queues(session: AsyncSession, names: Iterable[str]) -> set[str]:
    """Those of the names that no queue has; the others are kept from being deleted until the transaction ends."""
    wanted = sorted(set(names))
    # plain SQL: the tables of queues belong to a layer above this one
    statement = text("SELECT name FROM queues WHERE name IN :names ORDER BY name FOR KEY SHARE").bindparams(
        bindparam("names", expanding=True)
    )
    found = (await session.execute(statement, {"names": wanted})).scalars() if wanted else ()
    return set(wanted).difference(found)


async def find_quota(session: AsyncSession, team: str) -> StoredQuota | None:
    """The team's quota; None until it is first put."""
    row = (await session.execute(select(team_quotas).where(team_quotas.c.team == team))).one_or_none()
    if row is None:
        return None
    quota = Quota.stored(row.limits, row.max_jobs, row.on_over_quota)
    return StoredQuota(quota, row.version, row.updated_at, row.updated_by)


async def save_quota(session: AsyncSession, team: str, stored: StoredQuota) -> None:
    """Write the team's quota as a whole."""
    quota = stored.quota
    values: dict[str, Any] = {
        "limits": {
            name: {"per_job": limit.per_job, "outstanding": limit.outstanding} for name, limit in quota.limits.items()
        },
        "max_jobs": quota.max_jobs,
        "on_over_quota": quota.on_over_quota,
        "version": stored.version,
        "updated_at": stored.updated_at,
        "updated_by": stored.updated_by,
    }
    await session.execute(
        upsert(team_quotas)
        .values(team=team, **values)
        .on_conflict_do_update(index_elements=[team_quotas.c.team], set_=values)
    )


async def find_usage(session: AsyncSession, team: str) -> dict[str, int]:
    """What the team's outstanding jobs add up to, per resource name; the number of jobs under `count/jobs`."""
    rows = await session.execute(
        select(team_usage.c.resource, team_usage.c.used).where(team_usage.c.team == team, team_usage.c.used > 0)
    )
    return {row.resource: row.used for row in rows}
