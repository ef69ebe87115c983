"""Errors as RFC 9457 answers (`application/problem+json`), their part of the OpenAPI document, and their handbook."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.types import Scope

from app import errors
from app.db import sqlstate
from app.errors import AppError
from app.telemetry import get_logger
from app.validation import fault_of

log = get_logger(__name__)

MEDIA_TYPE = "application/problem+json"

_WITHOUT_DETAIL = "Something failed on our side; the request id names it in our logs."


class FaultRead(BaseModel):
    """One fault of a request."""

    pointer: str = Field(description="JSON Pointer into the body, or `/query/...`, `/header/...`")
    detail: str
    code: str


class Problem(BaseModel):
    """A problem in the form of RFC 9457. `type` is one of the words in docs/problems.md; extras depend on it."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str = Field(description="One sentence that a person can act on")
    instance: str = Field(description="Path of the request")
    request_id: str
    errors: list[FaultRead] = Field(default_factory=list, description="Every fault, with `validation-error`")


def render(error: AppError, scope: Scope) -> JSONResponse:
    """The answer that tells a caller about an error."""
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        # the kind of the cause and not its text, which may hold an address
        cause = error.__cause__
        log.warning("unavailable", type=error.type, cause=type(cause).__name__, sqlstate=sqlstate(cause))
    content = problem_of(error, scope).model_dump(exclude_unset=True)
    return JSONResponse(content, status_code=error.status, headers=error.headers, media_type=MEDIA_TYPE)


def problem_of(error: AppError, scope: Scope) -> Problem:
    """An error in the form that callers read, as an answer or as a part of one."""
    internal = error.status == HTTPStatus.INTERNAL_SERVER_ERROR
    return Problem(
        type=error.type,
        title=error.title,
        status=int(error.status),
        detail=_WITHOUT_DETAIL if internal else error.detail,
        instance=scope["path"],
        request_id=scope.get("state", {}).get("request_id", ""),
        **({} if internal else error.extras),
    )


def responses(*kinds: type[AppError]) -> dict[int | str, dict[str, Any]]:
    """What a route declares about its errors in the OpenAPI document; several types may share a status."""
    declared: dict[int | str, dict[str, Any]] = {}
    for kind in kinds:
        entry = declared.setdefault(
            int(kind.status),
            {
                "description": "",
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        )
        entry["description"] = "; ".join(filter(None, (entry["description"], f"`{kind.type}`: {kind.title}")))
    return declared


COMMON = responses(
    errors.InvalidCursor,
    errors.InvalidJson,
    errors.Unauthenticated,
    errors.Forbidden,
    errors.NotFound,
    errors.BodyTooLarge,
    errors.UnsupportedMediaType,
    errors.ValidationError,
    errors.InternalError,
    errors.Unavailable,
)
"""Problems that every route behind a token can answer with."""


def install(app: FastAPI) -> None:
    """Answer every error of the framework and of ours as a problem."""
    app.add_exception_handler(AppError, _on_app_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_app_error(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, AppError):
        raise error
    return render(error, request.scope)


async def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    return render(_of_validation(request, error), request.scope)


def _of_validation(request: Request, error: RequestValidationError) -> AppError:
    found = error.errors()
    if any(fault["loc"][:1] == ("path",) for fault in found):
        return errors.NotFound("There is no such object.")
    if isinstance(error.body, bytes):  # FastAPI parses JSON only, and hands over anything else as it came
        return errors.UnsupportedMediaType("The body must be sent with Content-Type: application/json.")
    return errors.ValidationError([fault_of(fault) for fault in found])


async def _on_http_exception(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    return render(_of_http(request, error), request.scope)


def _of_http(request: Request, error: HTTPException) -> AppError:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return errors.NotFound("There is no such path.")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(methods_of(request.app, request.scope))
        return errors.MethodNotAllowed(f"This path takes {allowed}.", headers={"Allow": allowed})
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return errors.InvalidJson("The body could not be read.")
    log.error("unforeseen http exception", status=error.status_code)
    return errors.InternalError("")


def location(request: Request, path: str) -> str:
    """A path as the caller has to write it: behind the prefix that a proxy takes away."""
    return f"{request.scope.get('root_path', '')}{path}"


def methods_of(app: FastAPI, scope: Scope) -> list[str]:
    """The methods that the routes of this path take together (RFC 9110, 10.2.1)."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    found: set[str] = set()
    for route in route_contexts(app):
        if route.path_regex is not None and route.path_regex.match(path):
            found |= route.methods or set()
    return sorted(found)


def route_contexts(app: FastAPI) -> Iterator[Any]:
    """Every route of the application, also those of its included routers."""
    return iter(iter_route_contexts(app.routes))


def render_problems_markdown() -> str:
    """The text of docs/problems.md: every problem type, from the classes in `errors.py`."""
    lines = [
        "# Problems",
        "",
        "Generated from `app/errors.py`. Every error is answered as `application/problem+json` (RFC 9457) with `type`,",
        "`title`, `status`, `detail`, `instance`, `request_id` and the extras named here.",
        "",
        "| status | type | when |",
        "| --- | --- | --- |",
    ]
    kinds = sorted(set(_kinds(AppError)), key=lambda kind: (kind.status, kind.type))
    lines += [f"| {int(kind.status)} | `{kind.type}` | {' '.join((kind.__doc__ or '').split())} |" for kind in kinds]
    return "\n".join(lines) + "\n"


def _kinds(base: type[AppError]) -> Iterator[type[AppError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
