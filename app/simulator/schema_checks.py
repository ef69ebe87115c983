"""Checks a value against a structural schema, with the words of kube-apiserver (k8s.io/apiextensions-apiserver)."""

import json
import re
from collections.abc import Iterator
from typing import Any

from app.simulator.refusals import Cause
from app.simulator.schemas import Schema

TYPE_INVALID = "FieldValueTypeInvalid"
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "integer or string": (int, str),
    "quantity": (int, float, str),
}


def schema_causes(schema: Schema, value: Any, path: str = "", *, nulls: bool = False) -> Iterator[Cause]:
    """Every way in which `value` breaks the schema. With `nulls` a null property counts as absent."""
    kind: str = schema.get("type", "object")
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        found = json.dumps(_type_name(value))
        yield Cause(path, f"Invalid value: {found}: {path} in body must be of type {kind}: {found}", TYPE_INVALID)
        return
    yield from _own_causes(schema, value, path)
    for part, item, where in _parts(schema, value, path, nulls=nulls):
        yield from schema_causes(part, item, where, nulls=nulls)


def _parts(schema: Schema, value: Any, path: str, *, nulls: bool) -> Iterator[tuple[Schema, Any, str]]:
    """What is inside an array or an object, with its schema and its path."""
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield schema["items"], item, f"{path}[{index}]"
    elif isinstance(value, dict):
        others = schema.get("additionalProperties")
        for name, item in value.items():
            part = schema.get("properties", {}).get(name, others)
            if part is not None and not (nulls and item is None):
                yield part, item, f"{path}.{name}" if path else name


def _type_name(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def _own_causes(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    if "minimum" in schema and value < schema["minimum"]:
        bound = f"{path} in body should be greater than or equal to {schema['minimum']}"
        yield Cause(path, f"Invalid value: {value}: {bound}")
    if "maximum" in schema and value > schema["maximum"]:
        yield Cause(path, f"Invalid value: {value}: {path} in body should be less than or equal to {schema['maximum']}")
    if "minItems" in schema and len(value) < schema["minItems"]:
        bound = f"{path} in body should have at least {schema['minItems']} items"
        yield Cause(path, f"Invalid value: {len(value)}: {bound}")
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield Cause(path, f"Too long: may not be more than {schema['maxLength']} bytes", "FieldValueTooLong")
    if "pattern" in schema and not re.match(schema["pattern"], value):
        quoted = json.dumps(value)
        yield Cause(path, f"Invalid value: {quoted}: {path} in body should match '{schema['pattern']}'")
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(json.dumps(item) for item in schema["enum"])
        text = f"Unsupported value: {json.dumps(value)}: supported values: {supported}"
        yield Cause(path, text, "FieldValueNotSupported")
    for name in schema.get("required", ()):
        if not value.get(name):
            yield Cause(f"{path}.{name}", "Required value", "FieldValueRequired")
