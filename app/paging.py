"""Keyset pages: a cursor names the last item of a page and the filters that it belongs to. No offsets, no totals."""

import base64
import hashlib
import json
from typing import Annotated, Generic, TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID

from fastapi import Depends, Query, Request, Response

from app.errors import InvalidCursor
from app.schema_base import ResponseBody

T = TypeVar("T")

MAX_LIMIT = 500
DEFAULT_LIMIT = 50

_NOT_FILTERS = frozenset({"cursor", "limit"})
_MAX_CURSOR = 1024


class Page(ResponseBody, Generic[T]):
    """Some items of a list, and the cursor of the next page (null on the last)."""

    items: list[T]
    next_cursor: str | None = None


class PageRequest:
    """Which page a caller asked for: at most `limit` items behind the key `after` (None for the first page)."""

    def __init__(self, request: Request, limit: int, cursor: str | None) -> None:
        self.limit = limit
        # from the scope and not request.url, which is built from the Host header and fails with a broken one
        self._path = f"{request.scope.get('root_path', '')}{route_path(request)}"
        self._parameters = [item for item in request.query_params.multi_items() if item[0] != "cursor"]
        self._fingerprint = _fingerprint(request)
        self.after = None if cursor is None else decode(cursor, self._fingerprint)

    def after_id(self) -> UUID | None:
        """The key of a list that is ordered by a UUID; `InvalidCursor` when it is none."""
        if self.after is None:
            return None
        try:
            return UUID(self.after)
        except ValueError as error:
            raise InvalidCursor("The cursor is not one that this list gave out.") from error

    def page(self, response: Response, items: list[T], keys: list[str]) -> Page[T]:
        """A page from up to `limit + 1` items and their keys; the surplus item only tells that there is a next page.

        Also sets `Link: <...>; rel="next"` (RFC 8288), as a path relative to the server.
        """
        more = len(items) > self.limit
        return self.part(response, items[: self.limit], keys[self.limit - 1] if more else None)

    def part(self, response: Response, items: list[T], key: str | None) -> Page[T]:
        """The same from the items of one page, and the key behind which the next one begins; None on the last page."""
        if key is None:
            return Page(items=items)
        cursor = encode(key, self._fingerprint)
        query = urlencode([*self._parameters, ("cursor", cursor)])
        response.headers["Link"] = f'<{quote(self._path)}?{query}>; rel="next"'
        return Page(items=items, next_cursor=cursor)


async def page_request(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Items on a page")] = DEFAULT_LIMIT,
    cursor: Annotated[str | None, Query(max_length=_MAX_CURSOR, description="`next_cursor` of the page before")] = None,
) -> PageRequest:
    """The page that a request asks for. A coroutine, because FastAPI makes classes in another thread."""
    return PageRequest(request, limit, cursor)


Paged = Annotated[PageRequest, Depends(page_request)]


def encode(key: str, fingerprint: str) -> str:
    """An opaque, URL-safe cursor."""
    return base64.urlsafe_b64encode(json.dumps([fingerprint, key]).encode()).decode().rstrip("=")


def decode(cursor: str, fingerprint: str) -> str:
    """The key inside a cursor; `InvalidCursor` when it is broken or belongs to other filters."""
    try:
        found, key = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        storable = isinstance(key, str) and b"\x00" not in key.encode()  # half a surrogate pair has no UTF-8
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidCursor("The cursor is not one that this list gave out.") from error
    if found != fingerprint or not storable:
        raise InvalidCursor("The cursor belongs to another list or to other filters; start again without it.")
    return str(key)


def route_path(request: Request) -> str:
    """The request's path without the prefix of a proxy, which some servers leave in and others take away."""
    path: str = request.scope["path"]
    return path.removeprefix(request.scope.get("root_path", ""))


def _fingerprint(request: Request) -> str:
    filters = sorted((name, value) for name, value in request.query_params.multi_items() if name not in _NOT_FILTERS)
    return hashlib.sha256(json.dumps([route_path(request), filters]).encode()).hexdigest()[:16]
