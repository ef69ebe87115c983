"""The query parameters of lists, watches and writes."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.simulator.objects import ApiError
from app.simulator.refusals import bad_request, invalid_options
from app.simulator.rest.paths import Target
from app.simulator.selectors import Match, both, field_match, label_match

_TRUE, _FALSE = ("1", "t", "true"), ("", "0", "f", "false")


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What a list or a watch asks for. `version` is None when no resourceVersion was given."""

    matches: Match | None
    version: int | None
    limit: int
    token: str | None
    watch: bool
    bookmarks: bool
    timeout_seconds: float | None


def list_options(target: Target, query: Mapping[str, str], present: int) -> ListOptions:
    """Read the parameters of a list; `present` is the store's version.

    Raises:
        ApiError: 400 for a parameter that cannot be read, 422 for `sendInitialEvents`, 504 for a version to come.
    """
    matches = both(label_match(query.get("labelSelector")), field_match(target.kind, query.get("fieldSelector")))
    if target.name is not None:
        matches = both(matches, field_match(target.kind, f"metadata.name={target.name}"))
    watch = flag(query, "watch")
    if "sendInitialEvents" in query and watch:
        text = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        raise invalid_options("sendInitialEvents", text)
    version = whole(query, "resourceVersion") if query.get("resourceVersion") else None
    token = query.get("continue") or None
    if token and version:
        raise bad_request("specifying resource version is not allowed when using continue")
    if version is not None and version > present:
        raise too_large(version, present)
    timeout = whole(query, "timeoutSeconds") if query.get("timeoutSeconds") else None
    limit = whole(query, "limit") if query.get("limit") else 0
    return ListOptions(matches, version, limit, token, watch, flag(query, "allowWatchBookmarks"), timeout)


def flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean parameter. `watch=True` is how kubernetes-asyncio writes it.

    Raises:
        ApiError: 400 for anything else.
    """
    value = query.get(name, "").lower()
    if value not in _TRUE + _FALSE:
        raise bad_request(f"{name}: Invalid value: must be true or false")
    return value in _TRUE


def whole(query: Mapping[str, str], name: str) -> int:
    """A whole number of zero or more.

    Raises:
        ApiError: 400 for anything else.
    """
    value = query[name]
    if not (value.isascii() and value.isdigit()):
        raise bad_request(f"{name}: Invalid value: must be a whole number of zero or more")
    return int(value)


def is_dry_run(query: Mapping[str, str]) -> bool:
    """Whether nothing may be stored.

    Raises:
        ApiError: 422 for a value other than `All`.
    """
    value = query.get("dryRun")
    if value not in (None, "", "All"):
        raise invalid_options("dryRun", f'Unsupported value: "{value}": supported values: "All"')
    return value == "All"


def too_large(version: int, present: int) -> ApiError:
    """504 of a read that asks for a version which is not there yet."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    text = f"Too large resource version: {version}, current: {present}"
    return ApiError(504, "Timeout", f"Timeout: {text}", {"causes": causes, "retryAfterSeconds": 1})
