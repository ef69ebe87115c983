"""Who calls: from a bearer token to a principal. And the life of API tokens."""

import hmac
import time
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.auth import store
from app.auth.models import TokenRow
from app.auth.principal import Principal, Role
from app.auth.schemas import TokenCreate
from app.auth.tokens import digest, has_form, new_token
from app.db import Sessions, away_as_unavailable, new_id, now
from app.errors import Forbidden, NotFound, Unauthenticated, Unavailable, ValidationError
from app.settings import Settings
from app.validation import invalid

CACHE_SECONDS = 3.0
CACHE_SIZE = 4096

BOOTSTRAP_ADMIN = "bootstrap-admin"
"""Subject of the admin token that stands in the settings."""


@dataclass(frozen=True, slots=True)
class _Verified:
    principal: Principal
    until: float


class Authenticator:
    """Finds out who a bearer token belongs to, with at most one indexed query.

    Verified tokens are remembered for `CACHE_SECONDS`. A token revoked through this process is forgotten at once; other
    processes may take it for up to three seconds more. Expiry is never exceeded. Refusals are not remembered, so a new
    token works everywhere at once.
    """

    def __init__(self, settings: Settings, sessions: Sessions) -> None:
        self._sessions = sessions
        given = settings.admin_token.get_secret_value() if settings.admin_token else ""
        self._admin_digest = digest(given) if given else None
        self._verified: dict[bytes, _Verified] = {}
        self._forgotten = 0

    async def authenticate(self, token: str) -> Principal:
        """The principal behind a token.

        Raises:
            Unauthenticated: no such token, or it has expired or was revoked.
            Unavailable: the database does not answer.
        """
        hashed = digest(token)
        if self._admin_digest is not None and hmac.compare_digest(hashed, self._admin_digest):
            return Principal(subject=BOOTSTRAP_ADMIN, role=Role.ADMIN)
        known = self._verified.get(hashed)
        if known is not None and known.until > time.monotonic():
            return known.principal
        if not has_form(token):
            raise Unauthenticated("The bearer token is not valid.")
        return await self._look_up(hashed)

    async def still_valid(self, token: str) -> bool:
        """Whether a token that was valid is so now, as far as can be known."""
        try:
            await self.authenticate(token)
        except Unauthenticated:
            return False
        except Unavailable:
            return True
        return True

    def forget(self, hashed: bytes) -> None:
        """Look the token up again at its next use."""
        self._verified.pop(hashed, None)
        self._forgotten += 1

    async def _look_up(self, hashed: bytes) -> Principal:
        forgotten = self._forgotten
        with away_as_unavailable():
            async with self._sessions() as session:
                await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
                row = await store.find_by_digest(session, hashed)
        moment = now()
        if row is None or row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= moment):
            self._verified.pop(hashed, None)
            raise Unauthenticated("The bearer token is not valid, has expired or was revoked.")
        principal = Principal(subject=row.subject, role=Role(row.role), team=row.team)
        if forgotten == self._forgotten:  # else this may have been read before a revocation that came meanwhile
            self._remember(hashed, principal, row.expires_at, moment)
        return principal

    def _remember(self, hashed: bytes, principal: Principal, expires_at: datetime | None, moment: datetime) -> None:
        seconds = CACHE_SECONDS if expires_at is None else min(CACHE_SECONDS, (expires_at - moment).total_seconds())
        self._verified.pop(hashed, None)
        while len(self._verified) >= CACHE_SIZE:
            self._verified.pop(next(iter(self._verified)))  # the one that was looked up longest ago
        self._verified[hashed] = _Verified(principal, time.monotonic() + seconds)


async def create_token(session: AsyncSession, caller: Principal, wanted: TokenCreate) -> tuple[TokenRow, str]:
    """Make a token; the text is returned this once and never stored.

    Raises:
        Forbidden: the caller may not give this role.
        NotFound: a manager asked for a token of another team.
        ValidationError: the team does not exist, or the expiry has passed.
    """
    if wanted.team is not None:
        caller.require_in(wanted.team, Role.MANAGER)
    elif not caller.is_admin:
        raise Forbidden("Only an admin can make a token of the role admin.")
    moment = now()
    if wanted.expires_at is not None and wanted.expires_at <= moment:
        raise ValidationError([invalid(("expires_at",), "The expiry must be in the future", "in-the-past")])
    if wanted.team is not None and not await store.team_exists(session, wanted.team):
        raise ValidationError([invalid(("team",), "There is no such team", "unknown-team")])
    token = new_token()
    row = TokenRow(
        id=new_id(),
        name=wanted.name,
        subject=wanted.subject,
        team=wanted.team,
        role=wanted.role,
        token_hash=digest(token),
        created_at=moment,
        created_by=caller.subject,
        expires_at=wanted.expires_at,
    )
    await store.insert_token(session, row)
    return row, token


async def list_tokens(session: AsyncSession, caller: Principal, after: UUID | None, limit: int) -> list[TokenRow]:
    """Tokens in the order in which they were made: all for an admin, those of the own team for a manager."""
    caller.require(Role.MANAGER)
    return await store.list_tokens(session, caller.team, after, limit)


async def revoke_token(session: AsyncSession, caller: Principal, token_id: UUID) -> bytes:
    """Revoke a token for ever and return its digest; revoking it twice is the same as once.

    Raises:
        NotFound: there is no such token, or it is another team's.
    """
    caller.require(Role.MANAGER)
    hashed = await store.mark_revoked(session, token_id, caller.team, now())
    if hashed is None:
        raise NotFound("There is no such token.")
    return hashed
