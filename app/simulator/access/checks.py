"""What roles and bindings may say (k8s.io/kubernetes/pkg/apis/rbac/validation, read at v1.36)."""

import json
from collections.abc import Iterator, Sequence

from app.simulator.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, RBAC, ROLE, ROLE_BINDING, Kind
from app.simulator.objects import Object
from app.simulator.refusals import Cause

ROLES = frozenset({ROLE, CLUSTER_ROLE})
BINDINGS = frozenset({ROLE_BINDING, CLUSTER_ROLE_BINDING})
_REFERENCES = {ROLE_BINDING: ("Role", "ClusterRole"), CLUSTER_ROLE_BINDING: ("ClusterRole",)}
_SUBJECTS = ("ServiceAccount", "User", "Group")


def rbac_causes(kind: Kind, old: Object | None, obj: Object) -> Iterator[Cause]:
    """Everything that is wrong with a role or a binding; nothing for other kinds."""
    if kind in ROLES:
        for index, rule in enumerate(obj.get("rules") or ()):
            yield from _rule_causes(rule, f"rules[{index}]", namespaced=kind is ROLE)
    if kind in BINDINGS:
        yield from _reference_causes(kind, obj.get("roleRef") or {})
        for index, subject in enumerate(obj.get("subjects") or ()):
            yield from _subject_causes(kind, subject, f"subjects[{index}]")
        if old is not None and old["roleRef"] != obj.get("roleRef"):
            found = json.dumps(obj.get("roleRef"), separators=(",", ":"))
            yield Cause("roleRef", f"Invalid value: {found}: cannot change roleRef")


def default_binding(binding: Object) -> None:
    """Fill in the API group of the role and of the subjects (`SetDefaults_Subject`), in place."""
    reference = binding.setdefault("roleRef", {})
    reference["apiGroup"] = reference.get("apiGroup") or RBAC
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = subject.get("apiGroup") or RBAC


def _required(field: str, why: str = "") -> Cause:
    return Cause(field, f"Required value: {why}" if why else "Required value", "FieldValueRequired")


def _unsupported(field: str, found: str, known: Sequence[str]) -> Cause:
    names = ", ".join(json.dumps(name) for name in known)
    text = f"Unsupported value: {json.dumps(found)}: supported values: {names}"
    return Cause(field, text, "FieldValueNotSupported")


def _rule_causes(rule: Object, path: str, *, namespaced: bool) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield _required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        found = json.dumps(urls, separators=(",", ":"))
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            yield Cause(f"{path}.nonResourceURLs", f"Invalid value: {found}: {text}")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield Cause(f"{path}.nonResourceURLs", f"Invalid value: {found}: {text}")
        return
    if not rule.get("apiGroups"):
        yield _required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield _required(f"{path}.resources", "resource rules must supply at least one resource")


def _reference_causes(kind: Kind, reference: Object) -> Iterator[Cause]:
    if reference.get("apiGroup") != RBAC:
        yield _unsupported("roleRef.apiGroup", str(reference.get("apiGroup") or ""), (RBAC,))
    if reference.get("kind") not in _REFERENCES[kind]:
        yield _unsupported("roleRef.kind", str(reference.get("kind") or ""), _REFERENCES[kind])
    if not reference.get("name"):
        yield _required("roleRef.name")


def _subject_causes(kind: Kind, subject: Object, path: str) -> Iterator[Cause]:
    given = subject.get("kind")
    if not subject.get("name"):
        yield _required(f"{path}.name")
    if given not in _SUBJECTS:
        yield _unsupported(f"{path}.kind", str(given or ""), _SUBJECTS)
    elif given == "ServiceAccount":
        if subject.get("apiGroup"):
            yield _unsupported(f"{path}.apiGroup", subject["apiGroup"], ("",))
        if kind is CLUSTER_ROLE_BINDING and not subject.get("namespace"):
            yield _required(f"{path}.namespace")
    elif subject.get("apiGroup") != RBAC:
        yield _unsupported(f"{path}.apiGroup", str(subject.get("apiGroup") or ""), (RBAC,))
