"""What an API server's answer says: an object, a refusal, or nothing that can be used."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import aiohttp

from app.simulator.objects import ApiError, Object

UNAVAILABLE = 503
_THROTTLED = 429
_GONE = 410
_SERVER_ERRORS = 500
_LONGEST_WAIT_SECONDS = 30.0
_RETRY_AFTER = "retryAfterSeconds"
_EXPIRED_WORDS = ("Too large resource version", "required revision has been compacted")


def json_object(content: bytes) -> Object:
    """Read a JSON object.

    Raises:
        ApiError: 503, it is something else.
    """
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise unavailable("The answer of the API server is not a JSON object.")
    return answer


def refusal_of(code: int, content: bytes, headers: Mapping[str, str]) -> ApiError:
    """The refusal that an answer holds; a proxy's page has no words of the API server."""
    try:
        status = json.loads(content)
    except ValueError:
        status = None
    status = status if isinstance(status, dict) else {}
    refusal = status_error({"message": f"The API server answered with status {code}.", **status, "code": code})
    try:
        refusal.details[_RETRY_AFTER] = float(headers["Retry-After"])
    except (KeyError, ValueError):  # there is none, or it is a date, which no API server sends
        return refusal
    return refusal


def status_error(status: Mapping[str, Any]) -> ApiError:
    """A `Status` object as an error; watches send it as an event."""
    details = status.get("details")
    return ApiError(
        int(status.get("code") or _SERVER_ERRORS),
        str(status.get("reason") or ""),
        str(status.get("message") or ""),
        dict(details) if isinstance(details, dict) else {},
    )


def unavailable(message: str) -> ApiError:
    """No usable answer."""
    return ApiError(UNAVAILABLE, "ServiceUnavailable", message)


def seconds_to_wait(refusal: ApiError) -> float | None:
    """How long the server wants to be left alone before the same call; None when it does not ask for it."""
    wait = refusal.details.get(_RETRY_AFTER)
    if refusal.code != _THROTTLED and refusal.code < _SERVER_ERRORS:
        return None
    return min(float(wait), _LONGEST_WAIT_SECONDS) if wait else None


def is_expired(refusal: ApiError) -> bool:
    """Every form of "list anew": too old, compacted by etcd (500), or beyond a restored etcd (504)."""
    if refusal.code == _GONE or refusal.reason in ("Expired", "Gone"):
        return True
    return refusal.code >= _SERVER_ERRORS and any(words in refusal.message for words in _EXPIRED_WORDS)


@contextmanager
def network_errors() -> Iterator[None]:
    """Raise what aiohttp raises as a 503, the one refusal that says nothing about the object."""
    try:
        yield
    except TimeoutError as error:
        raise unavailable("The API server did not answer in time.") from error
    except (aiohttp.ClientError, OSError) as error:
        raise unavailable(f"The API server cannot be reached: {type(error).__name__}.") from error
