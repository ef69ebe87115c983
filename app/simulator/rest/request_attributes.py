"""From a request to what roles are asked about it (k8s.io/apiserver/pkg/endpoints/request, read at v0.36)."""

import re
from collections.abc import Mapping

from app.simulator.access.attributes import Attributes
from app.simulator.rest.query import flag

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_PARTS = ("status", "finalize")
_NAME_FIELD = re.compile(r"(?:^|,)metadata\.name==?([^,=!]+)(?:,|$)")


def attributes_of(method: str, path: str, query: Mapping[str, str]) -> Attributes:
    """Who asks is not part of it. A path that names no resource is itself what is asked for."""
    parts = [part for part in path.strip("/").split("/") if part]
    match parts:
        case ["api", _, first, *rest]:
            return _about_resource(method, "", [first, *rest], query)
        case ["apis", group, _, first, *rest]:
            return _about_resource(method, group, [first, *rest], query)
        case _:
            return Attributes(method.lower(), path=path)


def _about_resource(method: str, group: str, parts: list[str], query: Mapping[str, str]) -> Attributes:
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]  # a namespace itself lies in its own
        if len(parts) > 2 and parts[2] not in _NAMESPACE_PARTS:  # noqa: PLR2004 - namespaces, a name, and what is in it
            parts = parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    verb = _VERBS.get(method, "")
    if not name and verb == "get":
        verb = "watch" if flag(query, "watch") else "list"
        found = _NAME_FIELD.search(query.get("fieldSelector", ""))
        name = found[1] if found else ""
    if not name and verb == "delete":
        verb = "deletecollection"
    return Attributes(verb, group, resource, subresource, namespace, name)
