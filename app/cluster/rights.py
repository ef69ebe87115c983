"""The rights of the service's own account: reading what a refusal says is missing, and remembering it until it is not.

A 403 has two sources. Admission (a webhook, a quota) refuses this object; authorization refuses our account whatever
the object, in words of its own (k8s.io/apiserver, `ForbiddenStatusError`, read at v0.36), and that is no job's fault.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import structlog

STALE_SECONDS = 180.0
"""Whatever needs a right asks again within a minute; what nobody asked for in three is not needed any more."""

_REFUSAL = re.compile(
    r'(?:\S+ (?:"[^"]*" )?is )?forbidden: User "[^"]*" cannot (?P<verb>[a-z]+)'
    r' resource "(?P<resource>[a-z0-9/.-]+)" in API group "(?P<group>[a-z0-9.-]*)"'
    r' (?:in the namespace "(?P<namespace>[a-z0-9-]+)"|at the cluster scope)'
)
_PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)/(?:namespaces/(?P<namespace>[^/]+)/)?(?P<resource>[^/]+)"
    r"(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMED_NAMESPACES = 3

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Right:
    """What an account may do or not. `namespace` is "" for all of them and for cluster-wide objects."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    @property
    def sentence(self) -> str:
        """Say that it is missing, to operators and to users."""
        return _sentence(self.verb, self.resource, self.group, [self.namespace])


def right_refused(message: str) -> Right | None:
    """Read which right a refusal of authorization misses; None for every other refusal."""
    found = _REFUSAL.match(message)
    if found is None:
        return None
    return Right(found["verb"], found["resource"], found["group"], found["namespace"] or "")


def right_used(method: str, path: str, *, watch: bool = False) -> Right | None:
    """Say which right a request needs; None for a path that is no resource."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    reading = "get" if found["name"] else "watch" if watch else "list"
    verb = _VERBS.get(method, reading)
    resource = f"{found['resource']}/{found['subresource']}" if found["subresource"] else found["resource"]
    return Right(verb, resource, found["group"] or "", found["namespace"] or "")


class Rights:
    """Which rights were found missing. Tells the log once when one goes and once when it is back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused: dict[Right, float] = {}

    def refused(self, right: Right) -> None:
        """A request was refused for want of a right."""
        known = any(_kind(other) == _kind(right) for other in self._refused)
        self._refused[right] = self._clock()
        if not known:
            _log.warning("cluster_right_missing", right=right.sentence)

    def used(self, method: str, path: str, *, watch: bool = False) -> None:
        """A request was let in, so its right is there."""
        if not self._refused:
            return
        right = right_used(method, path, watch=watch)
        if right is not None and right in self._refused:
            self._drop(right)

    def missing(self) -> list[str]:
        """One sentence for each verb and resource, with the namespaces in which it is missing."""
        for right, at in list(self._refused.items()):
            if self._clock() - at >= STALE_SECONDS:
                self._drop(right)
        namespaces: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for right in sorted(self._refused, key=lambda each: (*_kind(each), each.namespace)):
            namespaces[_kind(right)].append(right.namespace)
        return [_sentence(*kind, where) for kind, where in namespaces.items()]

    def _drop(self, right: Right) -> None:
        del self._refused[right]
        if not any(_kind(other) == _kind(right) for other in self._refused):
            _log.info("cluster_right_no_longer_missing", verb=right.verb, resource=right.resource, group=right.group)


def _kind(right: Right) -> tuple[str, str, str]:
    return right.verb, right.resource, right.group


def _sentence(verb: str, resource: str, group: str, namespaces: list[str]) -> str:
    what = f"{resource} of {group}" if group else resource
    return f"The service's account in the cluster lacks the right to {verb} {what} {_where(namespaces)}."


def _where(namespaces: list[str]) -> str:
    if "" in namespaces:
        return "cluster-wide"
    if len(namespaces) == 1:
        return f"in the namespace {namespaces[0]}"
    more = len(namespaces) - _NAMED_NAMESPACES
    named = ", ".join(namespaces[:_NAMED_NAMESPACES])
    return f"in the namespaces {named}" + (f" and {more} more" if more > 0 else "")
