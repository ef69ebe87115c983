"""What a client asks before anything else: version, health, groups, resources, the OpenAPI document."""

from collections.abc import Callable, Mapping

from aiohttp import web

from app.simulator.history import encode
from app.simulator.kinds import KINDS, Kind
from app.simulator.objects import Object
from app.simulator.rest.resources import json_answer
from app.simulator.rest.reviews import AUTHORIZATION, AUTHORIZATION_VERSION, REVIEWS

VERSION: Mapping[str, str] = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.1+pumice-simulated",
    "gitCommit": "simulated",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "simulated/python",
}
_HEALTH = ("/healthz", "/livez", "/readyz")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_KINDS = {
    "binding": ("Binding", ("create",)),
    "eviction": ("Eviction", ("create",)),
    "log": ("Pod", ("get",)),
    "status": ("", ("get", "patch", "update")),
    "token": ("TokenRequest", ("create",)),
}
_FOREIGN_GROUPS = {"token": {"group": "authentication.k8s.io", "version": "v1"}}
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def open_to_all(path: str) -> bool:
    """Whether a path is answered without a token."""
    return path in _HEALTH or path.startswith(("/livez/", "/readyz/", "/healthz/")) or path == "/version"


def discovery_answer(request: web.Request) -> web.Response | None:
    """The answer to a question about the server itself; None when the path is none of these."""
    path = request.path.rstrip("/") or "/"
    if request.method != "GET":
        return None
    if open_to_all(path) and path != "/version":
        return web.Response(text="ok")
    if path == "/openapi/v2":
        return _openapi(request.headers.get("Accept", ""))
    body = _document(path)
    return json_answer(encode(body)) if body is not None else None


def _document(path: str) -> Object | None:
    parts = path.strip("/").split("/")
    match parts:
        case ["api", "v1"]:
            return _resource_list("", "v1")
        case ["apis", name] if name in _groups():
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}
        case ["apis", name, version] if version == _groups().get(name):
            return _resource_list(name, version)
        case [name] if name in _ROOTS:
            return _ROOTS[name]()
        case _:
            return None


def _paths() -> Object:
    return {"paths": ["/api", "/api/v1", "/apis", *(f"/apis/{name}" for name in _groups()), *_HEALTH, "/version"]}


def _groups() -> dict[str, str]:
    groups = {kind.group: kind.version for kind in KINDS if kind.group}
    return {**groups, AUTHORIZATION: AUTHORIZATION_VERSION}


def _group(name: str) -> Object:
    version = {"groupVersion": f"{name}/{_groups()[name]}", "version": _groups()[name]}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _resource_list(group: str, version: str) -> Object:
    resources = [item for kind in KINDS if kind.group == group for item in _resources(kind)]
    if group == AUTHORIZATION:
        resources += [
            {"name": plural, "singularName": name.lower(), "namespaced": False, "kind": name, "verbs": ["create"]}
            for plural, name in REVIEWS.items()
        ]
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}


def _resources(kind: Kind) -> list[Object]:
    main: Object = {
        "name": kind.plural,
        "singularName": kind.name.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": list(_VERBS),
    }
    if kind.short_names:
        main["shortNames"] = list(kind.short_names)
    parts = [
        {
            "name": f"{kind.plural}/{name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": _SUBRESOURCE_KINDS[name][0] or kind.name,
            "verbs": list(_SUBRESOURCE_KINDS[name][1]),
            **_FOREIGN_GROUPS.get(name, {}),
        }
        for name in sorted(kind.subresources)
    ]
    return [main, *parts]


def _openapi(accept: str) -> web.Response:
    """A document without schemas: kubectl then leaves all checks to the server. Empty bytes are its protobuf form."""
    if "protobuf" in accept:
        return web.Response(body=b"", content_type=_PROTOBUF)
    info = {"title": "Pumice's simulated cluster", "version": VERSION["gitVersion"]}
    return json_answer(encode({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}))


_ROOTS: dict[str, Callable[[], Object]] = {
    "": _paths,
    "version": lambda: dict(VERSION),
    "api": lambda: {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
    "apis": lambda: {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in _groups()]},
}
