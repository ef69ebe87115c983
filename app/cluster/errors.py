"""What can go wrong at the cluster's edge, told apart by what the caller has to do next.

The API server answers with a `Status` object (Kubernetes API conventions, "Response Status Kind"); its `reason`
counts for more than its code, since 409 is both `AlreadyExists` and `Conflict`. Messages hold the server's words only
where the caller's own request is at fault; addresses of hosts never get into them.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import aiohttp

from app.cluster import fields
from app.cluster.rights import Right, right_refused

DEFAULT_RETRY_AFTER_SECONDS = 1.0
MAXIMUM_RETRY_AFTER_SECONDS = 300.0

_WEBHOOK_CALL = re.compile(r'failed calling webhook "(?P<name>[A-Za-z0-9.-]{1,253})"')
_EXPIRED_WORDS = ("Too large resource version", "too old resource version", "required revision has been compacted")


class ClusterError(Exception):
    """A call to the cluster did not do what was asked.

    Attributes:
        status: the HTTP status, or None when no answer came.
        reason: the `reason` of the server's Status object, or "".
        retry_after_seconds: how long the server wants to be left alone, if it said so.
        outcome_unknown: True when the call may have had its effect all the same.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str = "",
        retry_after_seconds: float | None = None,
        outcome_unknown: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds
        self.outcome_unknown = outcome_unknown


class ClusterNotConfigured(ClusterError):
    """The settings name no cluster, or credentials that cannot be read."""


class ClusterUnavailable(ClusterError):
    """No answer, or one that says that the server has trouble (5xx). Ask again later."""


class Garbled(ClusterUnavailable):
    """An answer or a line of a watch is not what the API's protocol says: cut short, or not from an API server."""


class ClusterThrottled(ClusterError):
    """429 or 503: nothing was done; wait `retry_after_seconds` (always set)."""


class AlreadyExists(ClusterError):
    """409 with reason AlreadyExists: an object of that name is there."""


class Conflict(ClusterError):
    """409 with any other reason: the object changed meanwhile, or a precondition failed. Read and try again."""


class Rejected(ClusterError):
    """400, 403, 422 and the like: the same request will be refused again. The message is the server's or webhook's."""


class RightMissing(ClusterError):
    """403 of authorization: our account may not do this, whatever the object. The message is a sentence of ours.

    It is no `Rejected`: nobody's job is at fault, and the same request is let in once the right is given.
    """

    def __init__(self, right: Right) -> None:
        super().__init__(right.sentence, status=403, reason="Forbidden")
        self.right = right


NOT_FOUND = "NotFound"
"""The reason of a Status object about one object that is not there (Kubernetes API conventions, `StatusReason`)."""


class NotFound(ClusterError):
    """404: no such object, with the reason `NOT_FOUND`; else no such kind, or a proxy that knows no such page."""


class PodGone(NotFound):
    """The pod that was asked about is not there any more, though another may have its name."""


class ContainerWaits(Rejected):
    """The container has not started, so it has no log."""


class Expired(ClusterError):
    """410: the resourceVersion or the continue token is too old (or from another cluster's future). List anew."""


class Unauthorized(ClusterError):
    """401: the credentials are not accepted (any more)."""


_BY_CODE: Mapping[int, tuple[type[ClusterError], str]] = {
    401: (Unauthorized, "The cluster does not accept the credentials."),
    404: (NotFound, "The cluster has no such object."),
    409: (Conflict, "The object was changed by somebody else."),
}


def from_status(
    code: int, body: bytes | str | Mapping[str, Any] | None, headers: Mapping[str, str] | None = None
) -> ClusterError:
    """Turn a refusal into an error.

    Args:
        code: the HTTP status, or the `code` of a Status object inside a watch.
        body: the answer's body, which may be a Status object, a proxy's HTML page or nothing.
        headers: the answer's headers; `Retry-After` in seconds is honoured. Names may have any case.
    """
    status = _status_object(body)
    reason = _text(status.get("reason"))
    message = fields.message(status.get("message"))
    if code in (429, 503):
        wait = _retry_after(status, headers)
        wait = DEFAULT_RETRY_AFTER_SECONDS if wait is None else wait
        return ClusterThrottled(
            f"The cluster asks to wait {wait:g} seconds.", status=code, reason=reason, retry_after_seconds=wait
        )
    if _is_expired(code, status):
        return Expired("The cluster does not know that resource version.", status=code, reason=reason)
    if code == 409 and reason == "AlreadyExists":  # noqa: PLR2004 - an HTTP status
        return AlreadyExists(message or "An object of that name exists.", status=code, reason=reason)
    if code in _BY_CODE:
        kind, plain = _BY_CODE[code]
        return kind(message or plain, status=code, reason=reason)
    if 400 <= code < 500 and code != 408:  # noqa: PLR2004 - HTTP statuses
        return _refusal(code, reason, message)
    return ClusterUnavailable(
        _server_trouble(code, message),
        status=code,
        reason=reason,
        retry_after_seconds=_retry_after(status, headers),
        # admission comes before anything is stored, so a webhook that was not reached leaves no doubt
        outcome_unknown=_WEBHOOK_CALL.search(message) is None,
    )


def _refusal(code: int, reason: str, message: str) -> ClusterError:
    """Tell what is wrong with our account from what is wrong with the request."""
    right = right_refused(message) if code == 403 and reason == "Forbidden" else None  # noqa: PLR2004 - an HTTP status
    if right is not None:
        return RightMissing(right)
    return Rejected(message or f"The cluster refused the request with status {code}.", status=code, reason=reason)


@contextmanager
def edge_errors() -> Iterator[None]:
    """Raise the network errors of aiohttp as `ClusterUnavailable`.

    A connection that never came about leaves no doubt: nothing was sent. Everything else leaves the outcome unknown.
    """
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise ClusterUnavailable("The cluster cannot be reached.") from error
    except TimeoutError as error:
        raise ClusterUnavailable("The cluster did not answer in time.", outcome_unknown=True) from error
    except (aiohttp.ClientError, OSError) as error:
        raise ClusterUnavailable("The connection to the cluster broke.", outcome_unknown=True) from error


def _server_trouble(code: int, message: str) -> str:
    """Say what is wrong without the server's words: they hold addresses (`Post "https://...": dial tcp ...`)."""
    webhook = _WEBHOOK_CALL.search(message)
    if webhook:
        return f"The cluster could not call the admission webhook {webhook['name']}."
    return f"The cluster answered with status {code}."


def _is_expired(code: int, status: Mapping[str, Any]) -> bool:
    """Tell every form of "list anew": too old (410), compacted by etcd (500), or not reached yet (504).

    The last one follows a restored or replaced etcd, where waiting would never help. Sources: apimachinery
    `errors.IsResourceExpired`, `IsGone` and `IsTooLargeResourceVersionError`; etcd `ErrCompacted`.
    """
    if code == 410 or status.get("reason") in ("Expired", "Gone"):  # noqa: PLR2004 - an HTTP status
        return True
    causes = _mapping(status.get("details")).get("causes")
    listed = causes if isinstance(causes, list) else []
    return code >= 500 and (  # noqa: PLR2004 - an HTTP status
        any(words in _text(status.get("message")) for words in _EXPIRED_WORDS)
        or any(_mapping(cause).get("reason") == "ResourceVersionTooLarge" for cause in listed)
    )


def _retry_after(status: Mapping[str, Any], headers: Mapping[str, str] | None) -> float | None:
    """Read the seconds to wait: the header first, then the Status object's own field. A date is not understood."""
    named = {name.lower(): value for name, value in (headers or {}).items()}
    for found in (named.get("retry-after"), _mapping(status.get("details")).get("retryAfterSeconds")):
        try:
            seconds = float(found)  # type: ignore[arg-type]  # whatever it is, the next lines judge it
        except (TypeError, ValueError):
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return min(seconds, MAXIMUM_RETRY_AFTER_SECONDS)
    return None


def _status_object(body: bytes | str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if isinstance(body, bytes | str):
        try:
            return _mapping(json.loads(body))
        except ValueError:  # a proxy's page, or an answer cut short; UnicodeDecodeError is one too
            return {}
    return _mapping(body)


def _mapping(thing: Any) -> Mapping[str, Any]:
    return thing if isinstance(thing, Mapping) else {}


def _text(thing: Any) -> str:
    return thing if isinstance(thing, str) else ""
