"""Making and changing teams, and their quotas."""

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.principal import Principal
from app.db import now
from app.errors import NameInUse, NotFound, ValidationError
from app.preconditions import require_match
from app.teams import store
from app.teams.quota import JOB_COUNT, Limit, Quota, available
from app.teams.schemas import LimitRead, QuotaPut, QuotaRead, TeamCreate, TeamPatch, Usage
from app.teams.store import StoredQuota, Team
from app.validation import NULL_HAS_NO_MEANING, invalid


async def create_team(session: AsyncSession, wanted: TeamCreate) -> Team:
    """Make a team.

    Raises:
        NameInUse: another team has the name or the namespace.
        ValidationError: a queue does not exist, or the default one is not among those granted.
    """
    moment = now()
    queues = tuple(sorted(wanted.queues))
    team = Team(
        name=wanted.name,
        namespace=wanted.namespace,
        queues=queues,
        default_queue=_default(queues, wanted.default_queue),
        created_at=moment,
        updated_at=moment,
    )
    await _require_queues(session, wanted.queues)
    if not await store.insert_team(session, team):
        what = "name" if await store.find_team(session, team.name) else "namespace"
        raise NameInUse(f"Another team has this {what}.")
    return team


async def get_team(session: AsyncSession, name: str) -> Team:
    """Read a team, or raise `NotFound`."""
    team = await store.find_team(session, name)
    if team is None:
        raise _no_team()
    return team


async def change_team(session: AsyncSession, name: str, wanted: TeamPatch) -> Team:
    """Change the queues of a team; what `wanted` leaves out stays.

    Raises:
        NotFound: there is no such team.
        ValidationError: the queues are null, one does not exist, or the default one is not among those granted.
    """
    team = await store.lock_team(session, name)
    if team is None:
        raise _no_team()
    if "queues" in wanted.model_fields_set and wanted.queues is None:
        raise ValidationError([invalid(("queues",), NULL_HAS_NO_MEANING, "null")])
    queues = team.queues if wanted.queues is None else tuple(sorted(wanted.queues))
    given = "default_queue" in wanted.model_fields_set
    keep = team.default_queue if team.default_queue in queues else None
    default = _default(queues, wanted.default_queue if given else keep)
    if (queues, default) == (team.queues, team.default_queue):
        return team
    changed = replace(team, queues=queues, default_queue=default, updated_at=now())
    await _require_queues(session, wanted.queues or [])
    await store.update_team(session, changed)
    return changed


def _default(queues: tuple[str, ...], wanted: str | None) -> str | None:
    if wanted is None:
        return queues[0] if len(queues) == 1 else None
    if wanted not in queues:
        raise ValidationError([invalid(("default_queue",), "This has to be one of the queues", "not-granted")])
    return wanted


async def _require_queues(session: AsyncSession, queues: list[str]) -> None:
    missing = await store.missing_queues(session, queues)
    if missing:
        raise ValidationError(
            [
                invalid(("queues", place), "There is no such queue", "unknown-queue")
                for place, queue in enumerate(queues)
                if queue in missing
            ]
        )


async def get_quota(session: AsyncSession, team: str) -> tuple[QuotaRead, int]:
    """Read a team's quota and what is in use, with the quota's version (0 until it is first put)."""
    await get_team(session, team)
    stored = await store.find_quota(session, team)
    return _read(stored, await store.find_usage(session, team)), stored.version if stored else 0


async def put_quota(
    session: AsyncSession, caller: Principal, team: str, wanted: QuotaPut, if_match: str | None
) -> tuple[QuotaRead, int]:
    """Replace a team's quota and return it with its version.

    Raises:
        NotFound: there is no such team.
        PreconditionRequired: there is a quota already, and `if_match` is missing.
        PreconditionFailed: the quota has changed since the caller read it.
    """
    # the lock also keeps a submission from being counted against half of a change
    if await store.lock_team(session, team) is None:
        raise _no_team()
    before = await store.find_quota(session, team)
    require_match(if_match, before.version if before else None)
    stored = StoredQuota(wanted.quota(), (before.version if before else 0) + 1, now(), caller.subject)
    await store.save_quota(session, team, stored)
    return _read(stored, await store.find_usage(session, team)), stored.version


def _read(stored: StoredQuota | None, used: dict[str, int]) -> QuotaRead:
    quota = stored.quota if stored else Quota()
    return QuotaRead(
        limits={
            name: LimitRead(per_job=limit.per_job, outstanding=limit.outstanding)
            for name, limit in sorted(quota.limits.items())
        },
        max_jobs=quota.max_jobs,
        on_over_quota=quota.on_over_quota,
        usage={name: _usage(_outstanding(quota, name), used.get(name, 0)) for name in _resources(quota, used)},
        jobs=_usage(quota.max_jobs, used.get(JOB_COUNT, 0)),
        as_of=now(),
        updated_at=stored.updated_at if stored else None,
        updated_by=stored.updated_by if stored else None,
    )


def _resources(quota: Quota, used: dict[str, int]) -> list[str]:
    return sorted(set(quota.limits) | (set(used) - {JOB_COUNT}))


def _outstanding(quota: Quota, resource: str) -> int | None:
    return quota.limits.get(resource, Limit(outstanding=0)).outstanding


def _usage(limit: int | None, used: int) -> Usage:
    return Usage(limit=limit, used=used, available=available(limit, used))


def _no_team() -> NotFound:
    return NotFound("There is no such team.")
