"""Volcano's kinds as CustomResourceDefinitions, from the same schemas that the simulated API server checks.

The definitions are ours: they hold the rules of Volcano v1.15.1 (volcano-facts 1) and keep every field that has none.
"""

from typing import Any

from app.simulator.kinds import JOB, POD_GROUP, QUEUE, Kind
from app.simulator.objects import Object, clone
from app.simulator.schemas import DEFAULTS, SCHEMAS, Schema

LABELS = {"pumice.dev/simulated": "true"}

_COPIED = ("minimum", "maximum", "minItems", "maxLength", "pattern")
_LISTS = ("enum", "required")


def _column(name: str, path: str, type_: str = "string", *, wide: bool = False) -> Object:
    return {"name": name, "jsonPath": path, "type": type_, "priority": int(wide)}


_AGE = _column("AGE", ".metadata.creationTimestamp", "date")
_QUEUE_COLUMN = _column("QUEUE", ".spec.queue", wide=True)
_COLUMNS: dict[Kind, tuple[Object, ...]] = {
    JOB: (
        _column("STATUS", ".status.state.phase"),
        _column("minAvailable", ".status.minAvailable", "integer"),
        _column("RUNNINGS", ".status.running", "integer"),
        _AGE,
        _QUEUE_COLUMN,
    ),
    POD_GROUP: (
        _column("STATUS", ".status.phase"),
        _column("minMember", ".spec.minMember", "integer"),
        _column("RUNNINGS", ".status.running", "integer"),
        _AGE,
        _QUEUE_COLUMN,
    ),
    QUEUE: (_column("PARENT", ".spec.parent"),),
}
"""What `kubectl get` shows (volcano-facts 1.1)."""


def custom_resource_definitions() -> list[Object]:
    """The CustomResourceDefinition of each kind of Volcano, ready to be created in a real cluster."""
    return [_definition(kind) for kind in SCHEMAS]


def _definition(kind: Kind) -> Object:
    names: Object = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", "labels": dict(LABELS)},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def _version(kind: Kind) -> Object:
    version: Object = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _whole_schema(kind)},
    }
    if "status" in kind.subresources:
        version["subresources"] = {"status": {}}
    if kind in _COLUMNS:
        version["additionalPrinterColumns"] = [clone(column) for column in _COLUMNS[kind]]
    return version


def _whole_schema(kind: Kind) -> Object:
    schema = openapi(SCHEMAS[kind])
    for field, value in DEFAULTS.get(kind, {}).items():
        schema["properties"]["spec"]["properties"][field]["default"] = value
    return schema


def openapi(schema: Schema) -> Object:
    """A schema of `schemas` as a structural OpenAPI schema (Kubernetes, "Specifying a structural schema").

    Objects keep the fields that they do not name, since the schemas name only fields that have a rule.
    """
    type_ = schema.get("type", "object")
    if type_ == "integer or string":
        return {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    converted: Object = {"type": type_}
    converted |= {rule: schema[rule] for rule in _COPIED if rule in schema}
    converted |= {rule: list(schema[rule]) for rule in _LISTS if rule in schema}
    if type_ == "integer":
        converted["format"] = "int32"  # as `schema_checks` takes all of them to be
    return converted | _inside(schema, type_)


def _inside(schema: Schema, type_: str) -> dict[str, Any]:
    if type_ == "array":
        return {"items": openapi(schema["items"])}
    if type_ != "object":
        return {}
    if "additionalProperties" in schema:
        return {"additionalProperties": openapi(schema["additionalProperties"])}
    inside: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}
    if "properties" in schema:
        inside["properties"] = {name: openapi(part) for name, part in schema["properties"].items()}
    return inside
