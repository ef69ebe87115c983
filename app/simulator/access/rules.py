"""Whether a rule of a role allows a request. Pure (k8s.io/kubernetes/pkg/apis/rbac/v1, read at v1.36)."""

from collections.abc import Iterable, Sequence

from app.simulator.access.attributes import Attributes
from app.simulator.objects import Object

ALL = "*"


def rules_allow(rules: Iterable[Object], asked: Attributes) -> bool:
    """Whether any rule allows it: rules only ever add rights."""
    return any(rule_allows(rule, asked) for rule in rules)


def rule_allows(rule: Object, asked: Attributes) -> bool:
    """Whether one rule allows it. A rule is about resources, or about paths that are none."""
    if not _names(rule, "verbs", asked.verb):
        return False
    if asked.path is not None:
        return any(_covers_path(pattern, asked.path) for pattern in _list(rule, "nonResourceURLs"))
    return (
        _names(rule, "apiGroups", asked.group)
        and any(_covers_resource(pattern, asked) for pattern in _list(rule, "resources"))
        and _names_object(rule, asked.name)
    )


def _list(rule: Object, field: str) -> Sequence[str]:
    return rule.get(field) or ()


def _names(rule: Object, field: str, value: str) -> bool:
    return ALL in _list(rule, field) or value in _list(rule, field)


def _covers_resource(pattern: str, asked: Attributes) -> bool:
    """`*` is everything, subresources too; `*/scale` is that subresource of everything; `jobs` is no subresource."""
    if pattern in (ALL, asked.full_resource):
        return True
    return bool(asked.subresource) and pattern == f"*/{asked.subresource}"


def _names_object(rule: Object, name: str) -> bool:
    """A rule with names never allows what has none, such as a create or a list."""
    names = _list(rule, "resourceNames")
    return not names or name in names


def _covers_path(pattern: str, path: str) -> bool:
    return pattern in (ALL, path) or (pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL)))
