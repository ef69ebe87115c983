"""What Volcano's part and the nodes need of an API server.

The simulated cluster implements `Objects` in memory; the same small interface can be implemented over HTTP, so that
Volcano's part can also drive a real kube-apiserver. Nothing else of the API server may be used by its users.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from app.simulator.kinds import Kind

Object = dict[str, Any]
"""A Kubernetes object as its JSON form. Objects read from `Objects` are shared: never change them, copy first."""


def clone(value: Any) -> Any:
    """A copy of a JSON value that shares nothing with it. Several times faster than `copy.deepcopy`."""
    if isinstance(value, dict):
        return {key: clone(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clone(item) for item in value]
    return value


EventType = Literal["ADDED", "MODIFIED", "DELETED"]
Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change; `object` is the object after it (before it, for DELETED)."""

    type: EventType
    object: Object


class ApiError(Exception):
    """A refusal as its `Status` object says it (Kubernetes API conventions, "Response Status Kind")."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}


class Objects(Protocol):
    """Reads and writes of objects.

    Every method may raise `ApiError` (404 NotFound, 409 AlreadyExists or Conflict, ...).
    """

    async def list(self, kind: Kind, namespace: str | None = None, label_selector: str | None = None) -> list[Object]:
        """All objects of a kind, in one namespace or in all."""
        ...

    async def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        """One object."""
        ...

    async def create(self, kind: Kind, obj: Object) -> Object:
        """Create; admission runs as for any caller."""
        ...

    async def replace(self, kind: Kind, obj: Object, subresource: str | None = None) -> Object:
        """Replace; 409 Conflict when `metadata.resourceVersion` is set and no longer the stored one."""
        ...

    async def patch(
        self, kind: Kind, namespace: str | None, name: str, patch: Object, subresource: str | None = None
    ) -> Object:
        """Apply a JSON merge patch (RFC 7386)."""
        ...

    async def delete(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        grace_period_seconds: int | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        """Delete, with `uid` as a precondition.

        A bound pod first gets a deletionTimestamp and goes after its grace period.
        """
        ...

    async def bind(self, namespace: str, pod: str, node: str) -> None:
        """Write `spec.nodeName` of a pod through its binding subresource; 409 when it has one."""
        ...

    def watch(self, kind: Kind) -> AsyncIterator[WatchEvent]:
        """First an ADDED for every object that exists, then each change, in order, without end and without a gap."""
        ...
