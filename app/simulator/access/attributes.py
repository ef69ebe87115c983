"""Who asks for what: the input of an authorizer (k8s.io/apiserver/pkg/authorization, read at v0.36)."""

import json
from dataclasses import dataclass

from app.simulator.objects import ApiError, Object

MASTERS = "system:masters"
"""The group that may do everything, whatever the roles say."""

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who was authenticated."""

    name: str
    groups: tuple[str, ...] = ()


ADMINISTRATOR = User("system:admin", (MASTERS, "system:authenticated"))
"""Who asks without a token, and who has the cluster's own one."""


def service_account_user(namespace: str, name: str) -> User:
    """The user that a service account's token stands for (docs, "Authenticating", Service account tokens)."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


@dataclass(frozen=True, slots=True)
class Attributes:
    """One request as roles see it. `path` is set for what is no resource, and then nothing but `verb` is."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None

    @property
    def full_resource(self) -> str:
        """`jobs`, or `jobs/finalizers`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def forbidden_to(user: User, asked: Attributes, reason: str = "") -> ApiError:
    """403 of authorization, with the words of a kube-apiserver."""
    why = f"{_sentence(user, asked).translate(_HTML)}: {reason}" if reason else _sentence(user, asked).translate(_HTML)
    label = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    details: Object = {"name": asked.name, "group": asked.group, "kind": asked.resource}
    details = {field: value for field, value in details.items() if value}
    if not label:
        return ApiError(403, "Forbidden", f"forbidden: {why}", details)
    named = f"{label} {json.dumps(asked.name)}" if asked.name else label
    return ApiError(403, "Forbidden", f"{named} is forbidden: {why}", details)


def _sentence(user: User, asked: Attributes) -> str:
    who = json.dumps(user.name)
    if asked.path is not None:
        return f"User {who} cannot {asked.verb} path {json.dumps(asked.path)}"
    what = f"resource {json.dumps(asked.full_resource)} in API group {json.dumps(asked.group)}"
    where = f"in the namespace {json.dumps(asked.namespace)}" if asked.namespace else "at the cluster scope"
    return f"User {who} cannot {asked.verb} {what} {where}"
