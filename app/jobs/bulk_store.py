"""The statements of a bulk submission: a handful, however many jobs it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Text, any_, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from app.jobs.acceptance import (
    EVENT,
    GIVEN,
    charge_rows,
    queues,
    quota_of,
    team_queues,
    team_quotas,
    teams,
    usage_upsert,
)
from app.jobs.dependencies import Link
from app.jobs.dependency_store import Parent
from app.jobs.transitions import ACCEPTED_CHANNEL, job_events, jobs, team_usage
from app.prepared import Driver, Prepared, copy_rows
from app.teams.quota import JOB_COUNT, Quota


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue that the team may use: what it may hold at most, and its state as Volcano last said."""

    capability: dict[str, str]
    state: str | None


@dataclass(slots=True)
class TeamFacts:
    """What decides about a team's submissions, as of after its lock. The mutable members grow with each decision.

    Attributes:
        keyed: idempotency key -> id and hash of the request that had it.
        live: name of a job that has not ended -> its id and what its owner wants of it.
        used_names: names in the namespace, of those asked for, that some job has or had.
        parents: jobs that some item waits for.
        links: what accepted items wait for, by their ids.
    """

    namespace: str
    default_queue: str | None
    quota: Quota
    used: dict[str, int]
    queues: dict[str, QueueFacts]
    keyed: dict[str, tuple[UUID, bytes | None]] = field(default_factory=dict)
    live: dict[str, tuple[UUID, str]] = field(default_factory=dict)
    used_names: set[str] = field(default_factory=set)
    parents: dict[UUID, Parent] = field(default_factory=dict)
    links: dict[UUID, list[Link]] = field(default_factory=dict)


def _texts(name: str) -> Any:
    return any_(bindparam(name, type_=ARRAY(Text)))


_TEAM = Prepared(
    select(
        teams.c.namespace,
        teams.c.default_queue,
        team_quotas.c.limits,
        team_quotas.c.max_jobs,
        team_quotas.c.on_over_quota,
        select(func.jsonb_object_agg(team_usage.c.resource, team_usage.c.used, type_=JSONB))
        .where(team_usage.c.team == teams.c.name)
        .scalar_subquery()
        .label("used"),
    )
    .select_from(teams.outerjoin(team_quotas, team_quotas.c.team == teams.c.name))
    .where(teams.c.name == bindparam("team"))
)
_QUEUES = Prepared(
    select(queues.c.name, queues.c.capability, queues.c.observed["state"].astext.label("state"))
    .select_from(team_queues.join(queues, queues.c.name == team_queues.c.queue))
    .where(team_queues.c.team == bindparam("team"))
)
_KEYED = Prepared(
    select(jobs.c.idempotency_key, jobs.c.id, jobs.c.request_hash).where(
        jobs.c.team == bindparam("team"), jobs.c.idempotency_key == _texts("keys")
    )
)
_LIVE = Prepared(
    select(jobs.c.name, jobs.c.id, jobs.c.desired).where(
        jobs.c.team == bindparam("team"), jobs.c.name == _texts("names"), jobs.c.ended_at.is_(None)
    )
)
_USED_NAMES = Prepared(
    select(jobs.c.k8s_name).where(jobs.c.k8s_namespace == bindparam("namespace"), jobs.c.k8s_name == _texts("names"))
)


async def read_team(driver: Driver, team: str, *, keys: Sequence[str], names: Sequence[str]) -> TeamFacts:
    """Read what decides about jobs of these keys and names; the team must be locked."""
    (row,) = await _TEAM.fetch(driver, {"team": team})
    granted = await _QUEUES.fetch(driver, {"team": team})
    keyed = await _KEYED.fetch(driver, {"team": team, "keys": keys}) if keys else []
    live = await _LIVE.fetch(driver, {"team": team, "names": names})
    return TeamFacts(
        namespace=row["namespace"],
        default_queue=row["default_queue"],
        quota=quota_of(row),
        used=dict(row["used"] or {}),
        queues={queue["name"]: QueueFacts(queue["capability"], queue["state"]) for queue in granted},
        keyed={found["idempotency_key"]: (found["id"], found["request_hash"]) for found in keyed},
        live={found["name"]: (found["id"], found["desired"]) for found in live},
        used_names=await read_used_names(driver, row["namespace"], names),
    )


async def read_used_names(driver: Driver, namespace: str, names: Sequence[str]) -> set[str]:
    """Those of `names` that some job of the namespace has or had."""
    found = await _USED_NAMES.fetch(driver, {"namespace": namespace, "names": names})
    return {row["k8s_name"] for row in found}


def _usage_statement() -> Any:
    charge = charge_rows()
    amounts = select(bindparam("team", type_=Text), charge.c.key, charge.c.value.cast(BigInteger))
    return usage_upsert(charge, amounts)


_USAGE = Prepared(_usage_statement())
_NOTIFY = Prepared(select(func.pg_notify(ACCEPTED_CHANNEL, bindparam("job_id", type_=Text))))


async def insert_jobs(driver: Driver, team: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write jobs, the first event of each and their charges, and tell the controller once.

    Args:
        driver: in a transaction that holds the team's lock.
        team: that all of them belong to.
        rows: every column that is not null at the beginning, of each.
    """
    if not rows:
        return
    await copy_rows(driver, jobs, GIVEN, rows)
    events = [
        {
            "job_id": row["id"],
            "team": team,
            "at": row["created_at"],
            "type": EVENT,
            **{name: row[name] for name in ("state", "reason", "message")},
        }
        for row in rows
    ]
    await copy_rows(driver, job_events, tuple(events[0]), events)
    usage = _charged(rows)
    if usage:
        await _USAGE.fetch(driver, {"team": team, "usage": usage})
    await _NOTIFY.fetch(driver, {"job_id": str(rows[-1]["id"])})


def _charged(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for row in rows:
        if row["charged"]:
            for resource, amount in {**row["charges"], JOB_COUNT: 1}.items():
                total[resource] = total.get(resource, 0) + amount
    return total
