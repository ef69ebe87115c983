"""Who sends a request, and whether they may."""

import hmac

from aiohttp import web

from app.simulator.access.attributes import ADMINISTRATOR, User, forbidden_to
from app.simulator.access.authorizer import Authorizer
from app.simulator.access.tokens import Tokens
from app.simulator.objects import ApiError
from app.simulator.rest.request_attributes import attributes_of


class Gate:
    """Authenticates and authorizes.

    Without a token, a request is the administrator's unless the cluster has a token of its own: newcomers and most
    tests need no credentials. A service account's token makes it that account's, to whom RBAC applies.
    """

    def __init__(self, authorizer: Authorizer, tokens: Tokens, own_token: str | None) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        self._own_token = own_token

    def admit(self, request: web.Request, *, open_to_all: bool) -> User:
        """Whose request it is; it may be carried out.

        Raises:
            ApiError: 401 without a token where one is needed, or with one that is not valid; 403 by RBAC.
        """
        token = _bearer_token(request.headers.get("Authorization", ""))
        if token is None:
            if self._own_token is None or open_to_all:
                return ADMINISTRATOR
            raise _unauthorized()
        user = self._user_of(token)
        asked = attributes_of(request.method, request.path, request.query)
        verdict = self._authorizer.judge(user, asked)
        if not verdict.allowed:
            raise forbidden_to(user, asked, verdict.reason)
        return user

    def _user_of(self, token: str) -> User:
        if self._own_token is not None and hmac.compare_digest(token.encode(), self._own_token.encode()):
            return ADMINISTRATOR
        user = self._tokens.user_of(token)
        if user is None:
            raise _unauthorized()
        return user


def _bearer_token(header: str) -> str | None:
    """The token of an Authorization header; None for another scheme, which no authenticator looks at."""
    scheme, _, rest = header.strip().partition(" ")
    return rest.split(" ")[0] or None if scheme.lower() == "bearer" else None


def _unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")
