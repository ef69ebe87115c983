"""RBAC: from the stored roles and bindings to a verdict (k8s.io/kubernetes/pkg/registry/rbac, read at v1.36)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from app.simulator.access.attributes import MASTERS, Attributes, User
from app.simulator.access.rules import rule_allows
from app.simulator.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from app.simulator.objects import Object
from app.simulator.store import Store


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request is allowed, and why, or why that could not be found out."""

    allowed: bool
    reason: str = ""


class Authorizer:
    """Judges requests by what the store holds at the moment."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def judge(self, user: User, asked: Attributes) -> Verdict:
        """Say whether a user may do something."""
        if MASTERS in user.groups:
            return Verdict(allowed=True)
        faults: list[str] = []
        for binding, subject in self._bindings(user, asked.namespace):
            rules = self._rules(binding, faults)
            if any(rule_allows(rule, asked) for rule in rules):
                return Verdict(allowed=True, reason=f"RBAC: allowed by {_described(binding, subject)}")
        return Verdict(allowed=False, reason=_broken(faults))

    def _bindings(self, user: User, namespace: str) -> Iterator[tuple[Object, Object]]:
        """The bindings that name a user, each with the subject that does."""
        records = self._store.records(CLUSTER_ROLE_BINDING)
        if namespace:
            records += self._store.records(ROLE_BINDING, namespace)
        for record in records:
            home = record.object["metadata"].get("namespace") or ""
            for subject in record.object.get("subjects") or ():
                if _is_meant(subject, user, home):
                    yield record.object, subject
                    break

    def _rules(self, binding: Object, faults: list[str]) -> list[Object]:
        reference = binding["roleRef"]
        kind = ROLE if reference["kind"] == "Role" else CLUSTER_ROLE
        namespace = binding["metadata"].get("namespace") or "" if kind is ROLE else ""
        record = self._store.get(kind, (namespace, reference["name"]))
        if record is None:
            label = f"{kind.name.lower()}.{kind.group}"  # informers name the kind, not the resource
            faults.append(f"{label} {json.dumps(reference['name'])} not found")
            return []
        return record.object.get("rules") or []


def _is_meant(subject: Object, user: User, namespace: str) -> bool:
    """Whether a subject is the user; in a RoleBinding an account without a namespace is of the binding's own."""
    name = subject.get("name")
    match subject.get("kind"):
        case "User":
            return bool(name == user.name)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            home = subject.get("namespace") or namespace
            return bool(home) and user.name == f"system:serviceaccount:{home}:{name}"
        case _:
            return False


def _described(binding: Object, subject: Object) -> str:
    metadata, reference = binding["metadata"], binding["roleRef"]
    namespace = metadata.get("namespace") or ""
    kind, name = ("RoleBinding", f"{metadata['name']}/{namespace}") if namespace else _cluster_wide(metadata)
    whom = subject["name"]
    if subject["kind"] == "ServiceAccount":
        whom = f"{whom}/{subject.get('namespace') or namespace}"
    role = f"{reference['kind']} {json.dumps(reference['name'])}"
    return f"{kind} {json.dumps(name)} of {role} to {subject['kind']} {json.dumps(whom)}"


def _cluster_wide(metadata: Object) -> tuple[str, str]:
    return "ClusterRoleBinding", metadata["name"]


def _broken(faults: list[str]) -> str:
    """Roles that bindings name and that are not there, in the form of Go's aggregated errors."""
    unique = list(dict.fromkeys(faults))
    if not unique:
        return ""
    return f"RBAC: {unique[0]}" if len(unique) == 1 else f"RBAC: [{', '.join(unique)}]"
