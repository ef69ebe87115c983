"""The statements by which a job is accepted: lock the team, read what decides, write everything at once.

Three round trips beside begin and commit. The lock is a statement of its own: under READ COMMITTED a statement that
waits for a row lock sees the locked row anew, but everything else as it was when the statement began, so usage read in
the same statement could be stale.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import Record
from sqlalchemy import BigInteger, Select, Text, and_, any_, bindparam, column, func, insert, literal, select, true
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, Insert
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.sql.selectable import TableValuedAlias

from app.db import table
from app.jobs.transitions import ACCEPTED_CHANNEL, job_events, jobs, team_usage
from app.prepared import Driver, Prepared
from app.queues.models import QueueRow
from app.teams.models import TeamQueueRow, TeamQuotaRow, TeamRow
from app.teams.quota import JOB_COUNT, Quota

teams = table(TeamRow)
team_queues = table(TeamQueueRow)
team_quotas = table(TeamQuotaRow)
queues = table(QueueRow)

EVENT = "accepted"


@dataclass(frozen=True, slots=True)
class Facts:
    """What decides about a submission, as of after the team's lock.

    Attributes:
        queue: the body's queue, else the team's default one; None when there is neither.
        granted: whether the team may use it.
        queue_state: as Volcano last said; None before it said anything.
        used: what the team's charged jobs add up to.
        replayed_id: the job that has this idempotency key, and `replayed_hash` its request.
        live_id: the job of this name that has not ended, and `live_desired` what its owner wants of it.
        used_names: those of the candidate names that some job of the namespace has or had.
    """

    namespace: str
    queue: str | None
    granted: bool
    capability: dict[str, str]
    queue_state: str | None
    quota: Quota
    used: Mapping[str, int]
    replayed_id: UUID | None
    replayed_hash: bytes | None
    live_id: UUID | None
    live_desired: str | None
    used_names: AbstractSet[str]


_LOCK = Prepared(select(teams.c.name).where(teams.c.name == bindparam("team")).with_for_update(key_share=True))


def _facts_statement() -> Select[Any]:
    keyed, live, named = jobs.alias("keyed"), jobs.alias("live"), jobs.alias("named")
    queue = func.coalesce(bindparam("queue", type_=Text), teams.c.default_queue)
    used = select(func.jsonb_object_agg(team_usage.c.resource, team_usage.c.used, type_=JSONB)).where(
        team_usage.c.team == teams.c.name
    )
    names = select(func.array_agg(named.c.k8s_name, type_=ARRAY(Text))).where(
        named.c.k8s_namespace == teams.c.namespace,
        named.c.k8s_name == any_(bindparam("candidates", type_=ARRAY(Text))),
    )
    return (
        select(
            teams.c.namespace,
            queue.label("queue"),
            team_queues.c.queue.is_not(None).label("granted"),
            queues.c.capability,
            queues.c.observed["state"].astext.label("queue_state"),
            team_quotas.c.limits,
            team_quotas.c.max_jobs,
            team_quotas.c.on_over_quota,
            used.scalar_subquery().label("used"),
            keyed.c.id.label("replayed_id"),
            keyed.c.request_hash.label("replayed_hash"),
            live.c.id.label("live_id"),
            live.c.desired.label("live_desired"),
            names.scalar_subquery().label("used_names"),
        )
        .select_from(teams)
        .outerjoin(team_quotas, team_quotas.c.team == teams.c.name)
        .outerjoin(team_queues, and_(team_queues.c.team == teams.c.name, team_queues.c.queue == queue))
        .outerjoin(queues, queues.c.name == team_queues.c.queue)
        .outerjoin(keyed, and_(keyed.c.team == teams.c.name, keyed.c.idempotency_key == bindparam("key", type_=Text)))
        .outerjoin(live, and_(live.c.team == teams.c.name, live.c.name == bindparam("name"), live.c.ended_at.is_(None)))
        .where(teams.c.name == bindparam("team"))
    )


_FACTS = Prepared(_facts_statement())


async def lock_team(driver: Driver, team: str) -> bool:
    """Wait until no other submission of the team is under way; False when there is no such team."""
    return bool(await _LOCK.fetch(driver, {"team": team}))


async def read_facts(
    driver: Driver, *, team: str, queue: str | None, name: str, key: str | None, candidates: list[str]
) -> Facts:
    """Read everything that decides, in one statement; the team must be locked."""
    given = {"team": team, "queue": queue, "name": name, "key": key, "candidates": candidates}
    (row,) = await _FACTS.fetch(driver, given)
    return Facts(
        namespace=row["namespace"],
        queue=row["queue"],
        granted=row["granted"],
        capability=row["capability"] or {},
        queue_state=row["queue_state"],
        quota=quota_of(row),
        used=row["used"] or {},
        replayed_id=row["replayed_id"],
        replayed_hash=row["replayed_hash"],
        live_id=row["live_id"],
        live_desired=row["live_desired"],
        used_names=frozenset(row["used_names"] or ()),
    )


def quota_of(row: Record) -> Quota:
    """The team's quota from the columns of `team_quotas`, which are null when it has none."""
    if row["limits"] is None:
        return Quota()
    return Quota.stored(row["limits"], row["max_jobs"], row["on_over_quota"])


GIVEN = (
    *("id", "team", "name", "queue", "k8s_namespace", "k8s_name", "spec", "charges", "charged", "priority"),
    *("priority_rank", "labels", "submitted_by", "desired", "state", "reason", "message", "counts"),
    *("idempotency_key", "request_hash", "attempt", "created_at", "ended_at", "queue_deadline_at"),
    *("open_parents", "retry_of"),
)
"""The columns that a job begins with; all others are null, or 0."""


def charge_rows() -> TableValuedAlias:
    """The members of the parameter `usage` as rows: `key` is a resource, `value` its amount as text."""
    each = func.jsonb_each_text(bindparam("usage", type_=JSONB))
    return each.table_valued(column("key", Text), column("value", Text))


def usage_upsert(charge: TableValuedAlias, amounts: Select[Any]) -> Insert:
    """Add amounts to `team_usage`.

    Args:
        charge: what `charge_rows` gave.
        amounts: selects from it the team, the resource and the amount.
    """
    # in the order of their names, as everybody touches these rows: no two callers block each other for ever
    usage = upsert(team_usage).from_select(["team", "resource", "used"], amounts.order_by(charge.c.key))
    return usage.on_conflict_do_update(
        index_elements=[team_usage.c.team, team_usage.c.resource],
        set_={"used": team_usage.c.used + usage.excluded.used},
    )


def _insert_statement() -> Select[Any]:
    # a bind parameter of an INSERT must not have the name of a column
    values = {name: bindparam(f"new_{name}", type_=jobs.c[name].type) for name in GIVEN}
    new = insert(jobs).values(values).returning(jobs).cte("new")
    line = select(new.c.id, new.c.team, new.c.created_at, literal(EVENT), new.c.state, new.c.reason, new.c.message)
    history = (
        insert(job_events)
        .from_select(["job_id", "team", "at", "type", "state", "reason", "message"], line)
        .cte("history")
    )
    charge = charge_rows()
    amounts = (
        select(new.c.team, charge.c.key, charge.c.value.cast(BigInteger))
        .select_from(new.join(charge, true()))
        .where(new.c.charged)
    )
    usage_cte = usage_upsert(charge, amounts).cte("usage")
    return select(func.pg_notify(ACCEPTED_CHANNEL, new.c.id.cast(Text))).add_cte(history, usage_cte)


_INSERT = Prepared(_insert_statement())


async def insert_job(driver: Driver, values: dict[str, Any]) -> None:
    """Write a job, its first event and its charge, and tell the controller, in one statement.

    Args:
        driver: in a transaction that holds the team's lock.
        values: every column that is not null at the beginning.
    """
    given = {f"new_{name}": values[name] for name in GIVEN}
    await _INSERT.fetch(driver, {**given, "usage": {**values["charges"], JOB_COUNT: 1}})
