"""What happens to every request around its route, as plain ASGI: ids, one log line, errors, tokens, bodies.

Plain ASGI and not Starlette's BaseHTTPMiddleware, which starts a task for each request and costs more than a route.
"""

import re
import time
from functools import partial
from http import HTTPStatus

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.auth.access import PRINCIPAL, RECHECK
from app.auth.service import Authenticator
from app.db import is_away, new_id
from app.errors import AppError, InternalError, Unauthenticated, Unavailable, ValidationError
from app.problems import render
from app.telemetry import get_logger
from app.validation import invalid

log = get_logger("app.access")

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PROTECTED = "/v1"
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestMiddleware:
    """Gives each request an id, answers errors that nobody else caught, and writes one log line."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(send, request_id.encode())
        began = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self.app(scope, receive, answer.send)
            except Exception as error:
                if (
                    answer.status is not None
                ):  # too late to tell: the connection is cut, so that nobody takes it for whole
                    log.error("request failed", exc_info=error)  # noqa: TRY400 - called outside of `except` too
                    raise
                await render(_to_tell(error), scope)(scope, receive, answer.send)
            finally:
                _log_request(scope, answer.status, time.perf_counter() - began)


class _Answer:
    """Sends the answer on with the request id, and remembers its status."""

    def __init__(self, send: Send, request_id: bytes) -> None:
        self._send = send
        self._header = (b"x-request-id", request_id)
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])  # and not an HTTPStatus, which logs write out at length
            message["headers"] = [*message.get("headers", ()), self._header]
        await self._send(message)


class AuthenticationMiddleware:
    """Verifies the token of every request under /v1 before its body is read, and before its path is looked up.

    So a stranger learns neither which paths exist nor what is wrong with a body.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self.app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and _is_protected(scope):
            token = _bearer_token(scope)
            scope[PRINCIPAL] = await self._authenticator.authenticate(token)
            scope[RECHECK] = partial(self._authenticator.still_valid, token)
        if scope["type"] == "http" and "\x00" in scope["path"]:
            raise ValidationError([invalid(("path",), "A path holds no NUL", "unstorable-character")])
        await self.app(scope, receive, send)


def _is_protected(scope: Scope) -> bool:
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path == _PROTECTED or path.startswith(_PROTECTED + "/")


def _bearer_token(scope: Scope) -> str:
    """The token of the Authorization header (RFC 6750, 2.1); tokens in the query or in a form are not taken."""
    found: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(found) == 1:
        scheme, _, token = found[0].decode("latin-1").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return token.strip()
    raise Unauthenticated("This needs one Authorization header with a bearer token.")


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return bytes(value).decode()
    return new_id().hex


def _to_tell(error: Exception) -> AppError:
    if isinstance(error, AppError):
        return error
    if is_away(error):
        away = Unavailable("The database does not answer; try again in a few seconds.")
        away.__cause__ = error
        return away
    log.error("request failed", exc_info=error)
    return InternalError("")


def _log_request(scope: Scope, status: int | None, seconds: float) -> None:
    route = scope.get("route")
    template = getattr(route, "path", None)  # never the path itself: it names jobs, and may hold anything
    write = log.debug if scope["path"] in _QUIET and status == HTTPStatus.OK else log.info
    write("request", method=scope["method"], route=template, status=status, ms=round(seconds * 1000, 1))
