"""Request bodies: none is larger than the limit, and JSON is JSON."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import BodyTooLarge, Invalid, InvalidJson, ValidationError
from app.validation import invalid

_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class BodyMiddleware:
    """Reads the body up to the limit, refuses it above, and checks JSON more strictly than Python does.

    Python's reader takes NaN, Infinity, numbers beyond a double, names that stand twice, and characters that Postgres
    cannot store (NUL, half surrogates). All of them would fail later, and worse.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, larger: Mapping[str, int] | None = None) -> None:
        """`larger` are the limits of paths that end in a key of it."""
        self.app = app
        self._max_bytes = max_bytes
        self._larger = larger or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] not in _WITH_BODY:
            await self.app(scope, receive, send)
            return
        limit = self._limit(scope["path"])
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > limit:
            raise _too_large(limit)
        body = await _read(receive, limit)
        if body is None:
            return  # the client has gone; there is nobody to answer
        if body and _is_json(headers.get(b"content-type", b"")):
            check_json(body)
        await self.app(scope, _replay(body, receive), send)

    def _limit(self, path: str) -> int:
        return next((limit for end, limit in self._larger.items() if path.endswith(end)), self._max_bytes)


async def _read(receive: Receive, limit: int) -> bytes | None:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"The body is larger than {limit} bytes; keep data in storage and pass a reference to it.", limit=limit
    )


def check_json(body: bytes) -> None:
    """Check that a body is JSON in the sense of RFC 8259, in UTF-8.

    Raises:
        InvalidJson: it is not, or names stand twice in an object, or a number is beyond a double.
        ValidationError: a text holds a character that cannot be stored.
    """
    try:
        document = _READER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        place = f" at line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = str(error) if isinstance(error, _Refused) else f"The body is not valid JSON{place}."
        raise InvalidJson(reason) from error
    if b"\\u0000" in body or b"\\ud" in body or b"\\uD" in body:
        faults = list(unstorable(document, ()))
        if faults:
            raise ValidationError(faults)


class _Refused(ValueError):
    """JSON for Python's reader, but not for us."""


def _refuse_constant(name: str) -> float:
    raise _Refused("NaN and Infinity are not JSON numbers.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Refused("A number is too large.")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused("An object has the same name twice.")
    return found


_READER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique)


def unstorable(document: Any, path: tuple[str | int, ...]) -> Iterator[Invalid]:
    """The texts of a document that Postgres cannot store, each with its place below `path`."""
    if isinstance(document, str) and not _is_storable(document):
        yield invalid(path, "The text holds a NUL or half of a surrogate pair", "unstorable-character")
    elif isinstance(document, list):
        for index, item in enumerate(document):
            yield from unstorable(item, (*path, index))
    elif isinstance(document, dict):
        for name, item in document.items():
            if not _is_storable(name):
                yield invalid(path, "A name holds a NUL or half of a surrogate pair", "unstorable-character")
            else:
                yield from unstorable(item, (*path, name))


def _is_storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _is_json(content_type: bytes) -> bool:
    kind = content_type.partition(b";")[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body first, and then what the connection says (that it was closed)."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
