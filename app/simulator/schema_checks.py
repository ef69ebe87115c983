"""Checks a value against a structural schema, with the words of kube-apiserver (k8s.io/apiextensions-apiserver)."""

import json
import re
from collections.abc import Iterator
from typing import Any

from app.simulator.refusals import Cause
from app.simulator.schemas import Schema

TYPE_INVALID = "FieldValueTypeInvalid"
_INT32 = 2**31
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
    if kind == "integer" and isinstance(value, bool | float):
        yield from _number_causes(value, path)
        return
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        found = json.dumps(_type_name(value))
        yield Cause(path, f"Invalid value: {found}: {path} in body must be of type {kind}: {found}", TYPE_INVALID)
        return
    yield from _own_causes(schema, value, path)
    for part, item, where in _parts(schema, value, path, nulls=nulls):
        yield from schema_causes(part, item, where, nulls=nulls)


def prune(schema: Schema, value: Any) -> None:
    """Drop the nulls of known fields and turn numbers such as 2.0 into whole ones where the schema wants these.

    In place, as a kube-apiserver does before it checks a custom resource (docs, "Defaulting and Nullable").
    """
    for name, part, item in list(_known(schema, value)):
        if item is None and isinstance(value, dict):
            del value[name]
        elif isinstance(item, float) and item.is_integer() and part.get("type") == "integer":
            value[name] = int(item)
        else:
            prune(part, item)


def _known(schema: Schema, value: Any) -> Iterator[tuple[Any, Schema, Any]]:
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield index, schema["items"], item
    elif isinstance(value, dict):
        others = schema.get("additionalProperties")
        for name, item in value.items():
            part = schema.get("properties", {}).get(name, others)
            if part is not None:
                yield name, part, item


def _parts(schema: Schema, value: Any, path: str, *, nulls: bool) -> Iterator[tuple[Schema, Any, str]]:
    """What is inside an array or an object, with its schema and its path."""
    for name, part, item in _known(schema, value):
        if isinstance(value, list):
            yield part, item, f"{path}[{name}]"
        elif not (nulls and item is None):
            yield part, item, f"{path}.{name}" if path else name


def _number_causes(value: float, path: str) -> Iterator[Cause]:
    """All integers of the schemas are of format int32, which has its own words for other numbers."""
    found = '""' if isinstance(value, bool) else '"float64"'
    yield Cause(path, f"Invalid value: {found}: {path} in body must be of type int32: {found}", TYPE_INVALID)
    if not isinstance(value, bool):
        yield _out_of_format(path)


def _out_of_format(path: str) -> Cause:
    text = f"Checked value must be of type integer with format int32 in {path}"
    return Cause("<nil>", f'Invalid value: "": {text}')


def _type_name(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def _own_causes(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    if schema.get("type") == "integer" and not -_INT32 <= value < _INT32:
        yield _out_of_format(path)
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
