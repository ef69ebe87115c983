"""The query parameters of lists, watches and writes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.simulator.objects import ApiError
from app.simulator.refusals import Cause, bad_request, internal, invalid_options
from app.simulator.rest.paths import Target
from app.simulator.selectors import Match, both, field_match, label_match

_FALSE = ("0", "false")
_FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"


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
        ApiError: 400 for a parameter that cannot be read, 422 for what may not be asked, 504 for a version to come.
    """
    watch = flag(query, "watch")
    _check_options(query, watch=watch)
    matches = both(label_match(query.get("labelSelector")), field_match(target.kind, query.get("fieldSelector")))
    if target.name is not None:
        matches = both(matches, field_match(target.kind, f"metadata.name={target.name}"))
    version = _list_version(query, watch=watch)
    token = query.get("continue") or None
    if token and version:
        raise bad_request("specifying resource version is not allowed when using continue")
    if not watch and version is not None and version > present:
        raise too_large(version, present)
    timeout, limit = max(0, integer(query, "timeoutSeconds")), max(0, integer(query, "limit"))
    return ListOptions(matches, version, limit, token, watch, flag(query, "allowWatchBookmarks"), timeout or None)


def _check_options(query: Mapping[str, str], *, watch: bool) -> None:
    """What no list or watch may ask for together (k8s.io/apimachinery, `ValidateListOptions`, read at v0.36)."""
    causes = list(_watch_causes(query) if watch else _list_causes(query))
    if causes:
        raise invalid_options("ListOptions", causes)


def _watch_causes(query: Mapping[str, str]) -> Iterator[Cause]:
    if "sendInitialEvents" in query:
        text = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        yield _forbidden("sendInitialEvents", text)
        return
    match = query.get("resourceVersionMatch")
    if match:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        yield _forbidden("resourceVersionMatch", text)
        if match != _NOT_OLDER:
            yield unsupported("resourceVersionMatch", json.dumps(match), (_NOT_OLDER,))
    if query.get("continue"):
        yield _forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")


def _list_causes(query: Mapping[str, str]) -> Iterator[Cause]:
    match, version = query.get("resourceVersionMatch"), query.get("resourceVersion")
    if match:
        if not version:
            text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            yield _forbidden("resourceVersionMatch", text)
        if query.get("continue"):
            yield _forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
        if match not in (_EXACT, _NOT_OLDER):
            yield unsupported("resourceVersionMatch", json.dumps(match), (_EXACT, _NOT_OLDER, ""))
        if match == _EXACT and version == "0":
            text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            yield _forbidden("resourceVersionMatch", text)
    if "sendInitialEvents" in query:
        yield _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _forbidden(field: str, text: str) -> Cause:
    return Cause(field, f"Forbidden: {text}", "FieldValueForbidden")


def unsupported(field: str, found: str, supported: Sequence[str]) -> Cause:
    """A value that is none of those that are known."""
    known = ", ".join(f'"{value}"' for value in supported)
    return Cause(field, f"Unsupported value: {found}: supported values: {known}", "FieldValueNotSupported")


def _list_version(query: Mapping[str, str], *, watch: bool) -> int | None:
    if not query.get("resourceVersion"):
        return None
    try:
        return version_of(query)
    except ApiError as refusal:
        if watch:
            raise
        raise bad_request(f"invalid resource version: {refusal.message}") from refusal


def version_of(query: Mapping[str, str]) -> int:
    """The resourceVersion, 0 without one.

    Raises:
        ApiError: 500 when it is no number, as a get and a watch of a kube-apiserver answer.
    """
    value = query.get("resourceVersion") or "0"
    if not (value.isascii() and value.isdigit()):
        text = f'Invalid value: "{value}": strconv.ParseUint: parsing "{value}": invalid syntax'
        raise internal(f"resourceVersion: {text}")
    return int(value)


def flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean parameter: whatever is given but `0` and `false` is true (k8s.io/apimachinery/pkg/runtime)."""
    return name in query and query[name].lower() not in _FALSE


def integer(query: Mapping[str, str], name: str) -> int:
    """A whole number, 0 when it is not given.

    Raises:
        ApiError: 400 for anything else.
    """
    value = query.get(name) or "0"
    if not re.fullmatch(r"[+-]?[0-9]+", value, re.ASCII):
        raise bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax')
    return int(value)


def is_dry_run(query: Mapping[str, str], options: str) -> bool:
    """Whether nothing may be stored; `options` is the kind of the parameters, such as `CreateOptions`.

    Raises:
        ApiError: 422 for a value other than `All`, or an unknown `fieldValidation`.
    """
    validation = query.get("fieldValidation", "")
    if validation not in _FIELD_VALIDATIONS:
        raise invalid_options(options, [unsupported("fieldValidation", json.dumps(validation), _FIELD_VALIDATIONS)])
    value = query.get("dryRun")
    if value not in (None, "", "All"):
        raise invalid_options(options, [unsupported("dryRun", json.dumps([value]), ("All",))])
    return value == "All"


def too_large(version: int, present: int) -> ApiError:
    """504 of a read that asks for a version which is not there yet."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    text = f"Too large resource version: {version}, current: {present}"
    return ApiError(504, "Timeout", f"Timeout: {text}", {"causes": causes, "retryAfterSeconds": 1})
