"""What a path of the Kubernetes API names."""

from dataclasses import dataclass

from app.simulator.kinds import KINDS, Kind
from app.simulator.refusals import not_found

_BY_PLACE = {(kind.group, kind.version, kind.plural): kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Target:
    """A collection (no name), an object, or a subresource of it. `namespace` is None for all of them."""

    kind: Kind
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The object's place in the store."""
        return self.namespace or "", self.name or ""

    @property
    def custom_everywhere(self) -> bool:
        """Whether it is the collection of all namespaces of a custom kind, which can only be read."""
        return self.kind.custom and self.kind.namespaced and self.namespace is None


def parse(path: str) -> Target | None:
    """The target of `/api/v1/...` or `/apis/<group>/<version>/...`; None for a path that names no resource.

    Raises:
        ApiError: 404 for a subresource that a custom resource has not.
    """
    match path.strip("/").split("/"):
        case ["api", version, *rest] if rest:
            return _resource("", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _resource(group, version, rest)
        case _:
            return None


def _resource(group: str, version: str, parts: list[str]) -> Target | None:
    match parts:
        case ["namespaces", namespace, plural, *rest] if plural not in ("status", "finalize"):
            kind = _BY_PLACE.get((group, version, plural))
            return _target(kind, namespace, rest) if kind is not None and kind.namespaced else None
        case [plural, *rest]:
            kind = _BY_PLACE.get((group, version, plural))
            return _target(kind, None, rest) if kind is not None and not (kind.namespaced and rest) else None
        case _:
            return None


def _target(kind: Kind, namespace: str | None, rest: list[str]) -> Target | None:
    if any(not part for part in rest):
        return None
    match rest:
        case []:
            return Target(kind, namespace)
        case [name]:
            return Target(kind, namespace, name)
        case [name, subresource] if subresource in kind.subresources:
            return Target(kind, namespace, name, subresource)
        case [name, _] if kind.custom:
            raise not_found(kind, name)
        case _:
            return None


def is_core_group(path: str) -> bool:
    """Whether a path lies in a group of core kinds, whose 404 is a Status; elsewhere it is plain text."""
    match path.strip("/").split("/"):
        case ["api", version, _, *_]:
            return version == "v1"
        case ["apis", group, version, _, *_]:
            return any((k.group, k.version) == (group, version) for k in KINDS if not k.custom)
        case _:
            return False
