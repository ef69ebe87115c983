"""Every SQL statement about API tokens."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.models import TokenRow
from app.db import table

tokens = table(TokenRow)


async def find_by_digest(session: AsyncSession, token_hash: bytes) -> TokenRow | None:
    """The token with this digest, also an expired or a revoked one."""
    row = (await session.execute(select(tokens).where(tokens.c.token_hash == token_hash))).one_or_none()
    return None if row is None else TokenRow(**row._mapping)  # noqa: SLF001  the documented way to a row's names


async def insert_token(session: AsyncSession, row: TokenRow) -> None:
    """Add a token."""
    await session.execute(insert(tokens).values(row.model_dump()))


async def list_tokens(session: AsyncSession, team: str | None, after: UUID | None, limit: int) -> list[TokenRow]:
    """Up to `limit` tokens behind the id `after`, of one team or of all."""
    statement = select(tokens).order_by(tokens.c.id).limit(limit)
    if team is not None:
        statement = statement.where(tokens.c.team == team)
    if after is not None:
        statement = statement.where(tokens.c.id > after)
    rows = (await session.execute(statement)).mappings()
    return [TokenRow(**row) for row in rows]


async def mark_revoked(session: AsyncSession, token_id: UUID, team: str | None, at: datetime) -> bytes | None:
    """Revoke one token and return its digest; the first revocation's time stays. None when there is none."""
    statement = update(tokens).where(tokens.c.id == token_id)
    if team is not None:
        statement = statement.where(tokens.c.team == team)
    revoked = statement.values(revoked_at=func.coalesce(tokens.c.revoked_at, at)).returning(tokens.c.token_hash)
    hashed: bytes | None = (await session.execute(revoked)).scalar_one_or_none()
    return hashed


async def team_exists(session: AsyncSession, team: str) -> bool:
    """Whether there is such a team; it is kept from being deleted until the transaction ends."""
    # plain SQL: the tables of teams belong to a layer above this one
    found = await session.execute(text("SELECT 1 FROM teams WHERE name = :team FOR KEY SHARE"), {"team": team})
    return found.one_or_none() is not None
