"""Who may call a route, said in its signature: `caller: Caller`, `admin: Admin`, `caller: TeamSubmitter`, ...

Tokens are verified by `AuthenticationMiddleware` before anything of the request is read; what is here only looks at the
outcome. It fails closed: where the middleware did not run, nobody is let in.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.openapi.models import HTTPBearer as BearerScheme
from fastapi.security.base import SecurityBase

from app.auth.principal import Principal, Role
from app.errors import Unauthenticated

PRINCIPAL = "pumice.principal"
"""Key of the ASGI scope under which the middleware leaves the caller."""

RECHECK = "pumice.recheck"
"""The same, of a function that looks at the token again."""


class _Bearer(SecurityBase):
    """Shows the token in the OpenAPI document and hands over the caller."""

    def __init__(self) -> None:
        self.model = BearerScheme(description="An API token, `pum_...`")
        self.scheme_name = "bearer"

    async def __call__(self, request: Request) -> Principal:
        principal = request.scope.get(PRINCIPAL)
        if not isinstance(principal, Principal):
            raise Unauthenticated("This needs an Authorization header with a bearer token.")
        return principal


Caller = Annotated[Principal, Depends(_Bearer())]
"""Anyone with a valid token."""


async def _still_valid(request: Request) -> Callable[[], Awaitable[bool]]:
    found: Callable[[], Awaitable[bool]] = request.scope[RECHECK]
    return found


StillValid = Annotated[Callable[[], Awaitable[bool]], Depends(_still_valid)]
"""For answers that go on for long: whether the token is still valid. It stays so while the database is away."""


async def _admin(caller: Caller) -> Principal:
    caller.require(Role.ADMIN)
    return caller


def _member(role: Role) -> Callable[..., object]:
    async def member(caller: Caller, team: str) -> Principal:
        caller.require_in(team, role)
        return caller

    return member


Admin = Annotated[Principal, Depends(_admin)]
"""Administrators of the installation."""

TeamViewer = Annotated[Principal, Depends(_member(Role.VIEWER))]
"""Members of the team in the path with any role, and administrators. To others the team does not exist (404)."""

TeamSubmitter = Annotated[Principal, Depends(_member(Role.SUBMITTER))]
"""Members of the team in the path who may submit jobs, and administrators."""

TeamManager = Annotated[Principal, Depends(_member(Role.MANAGER))]
"""Members of the team in the path who manage it, and administrators."""
