"""Routes of API tokens."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from app.auth import service
from app.auth.access import Caller
from app.auth.schemas import TokenCreate, TokenCreated, TokenRead
from app.auth.service import Authenticator
from app.db import away_as_unavailable
from app.dependencies import Reading, SessionMaker, Transaction
from app.paging import Page, Paged

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])


async def get_authenticator(request: Request) -> Authenticator:
    """The one that `create_app` made."""
    authenticator: Authenticator = request.app.state.authenticator
    return authenticator


@router.post("", status_code=HTTPStatus.CREATED)
async def create_token(body: TokenCreate, caller: Caller, session: Transaction) -> TokenCreated:
    """Make a token. Admins make any; managers make tokens of their own team, up to the role manager."""
    row, token = await service.create_token(session, caller, body)
    return TokenCreated(**TokenRead.of(row).model_dump(), token=token)


@router.get("")
async def list_tokens(caller: Caller, session: Reading, paged: Paged, response: Response) -> Page[TokenRead]:
    """List tokens, without their texts: all for admins, those of the own team for managers."""
    rows = await service.list_tokens(session, caller, paged.after_id(), paged.limit + 1)
    return paged.page(response, [TokenRead.of(row) for row in rows], [str(row.id) for row in rows])


@router.delete("/{token_id}", status_code=HTTPStatus.NO_CONTENT)
async def revoke_token(
    token_id: UUID,
    caller: Caller,
    sessions: SessionMaker,
    authenticator: Annotated[Authenticator, Depends(get_authenticator)],
) -> None:
    """Revoke a token for ever. Other processes of the API may take it for up to three seconds more."""
    with away_as_unavailable():
        async with sessions.begin() as session:
            hashed = await service.revoke_token(session, caller, token_id)
    authenticator.forget(hashed)  # after the commit: before it, another request could bring the token back
