"""Request bodies: JSON or YAML, and the patch formats (k8s.io/apiserver and apiextensions-apiserver, read at v0.36)."""

import json
from collections.abc import Callable
from typing import Any

import yaml
from aiohttp import web

from app.simulator.kinds import KINDS, Kind
from app.simulator.metadata import require_name, require_namespace
from app.simulator.objects import ApiError, Object
from app.simulator.patches import json_patch, merge_patch, strategic_merge_patch
from app.simulator.refusals import bad_request, unsupported_media_type, wrong_kind
from app.simulator.rest.paths import Target

LARGEST_BODY_BYTES = 3 * 1024 * 1024
"""What a kube-apiserver accepts (--max-resource-write-bytes)."""

_JSON, _YAML = "application/json", "application/yaml"
_SUMMARY_BYTES = 30
_NO_KIND = "couldn't get version/kind; json parse error: "
_GO_TYPES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


async def read_value(request: web.Request) -> Any:
    """The value of a body that is JSON or YAML; None for an empty body.

    Raises:
        ApiError: 400 malformed, 413 above 3 MiB, 415 another content type.
    """
    data = await _read(request)
    return _parse(request, data) if data.strip() else None


def _parse(request: web.Request, data: bytes) -> Any:
    content_type = request.content_type
    if content_type in (_YAML, "application/x-yaml", "text/yaml"):
        return _load_yaml(data)
    if content_type in (_JSON, "application/octet-stream") or content_type.endswith("+json"):
        return _load_json(data)
    raise unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        "application/yaml"
    )


async def read_object(request: web.Request, target: Target) -> Object:
    """An object whose kind, namespace and name agree with the path.

    Core kinds may leave out `apiVersion` and `kind`, custom resources may not.

    Raises:
        ApiError: 400, 413, 415; 422 for another kind of the same API version as a custom resource's.
    """
    kind, data = target.kind, await _read(request)
    obj = _decode(request, data, kind.name)
    if kind.custom:
        _require_custom(kind, obj, data)
    else:
        _require_core(kind, obj)
    metadata = obj.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_request("json: cannot unmarshal metadata into Go struct field of type v1.ObjectMeta")
    require_namespace(metadata, target.namespace if kind.namespaced else "")
    if target.name is not None:
        require_name(metadata, target.name)
    return obj


async def read_core(request: web.Request, name: str) -> Object:
    """An object of a built-in kind without a resource of its own, such as a Binding.

    Raises:
        ApiError: 400, 413, 415.
    """
    return _decode(request, await _read(request), name)


def _decode(request: web.Request, data: bytes, name: str) -> Object:
    try:
        value = _parse(request, data or b" ")
    except ApiError as refusal:
        if refusal.code != 400:  # noqa: PLR2004 - the content type, not the content
            raise
        raise _unrecognized(name, f"{_NO_KIND}{refusal.message}", data) from refusal
    if value is None:
        return {}
    if not isinstance(value, dict):
        text = f"json: cannot unmarshal {_go_type(value)} into Go value of type struct"
        raise _unrecognized(name, f"{_NO_KIND}{text}", data)
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field) or "", str):
            text = f"json: cannot unmarshal {_go_type(value[field])} into Go struct field .{field} of type string"
            raise _unrecognized(name, f"{_NO_KIND}{text}", data)
    return value


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type(value), "null")


def _unrecognized(name: str, why: str, data: bytes) -> ApiError:
    return bad_request(f"the object provided is unrecognized (must be of type {name}): {why} ({_summary(data)})")


def _summary(data: bytes) -> str:
    """The beginning of a body as a kube-apiserver shows it: text when it may be an object, else hexadecimal."""
    if not data:
        return "<empty>"
    more = " ..." if len(data) > _SUMMARY_BYTES else ""
    begin = data[:_SUMMARY_BYTES]
    return (begin.decode(errors="replace") if begin[:1] == b"{" else begin.hex()) + more


def _require_custom(kind: Kind, obj: Object, data: bytes) -> None:
    given, version = obj.get("kind") or "", obj.get("apiVersion") or ""
    if not given:
        text = f"Object 'Kind' is missing in '{data.decode(errors='replace')}'"
        raise _unrecognized(kind.name, text, data)
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    if given != kind.name:
        metadata = obj.get("metadata")
        raise wrong_kind(kind, given, str(metadata.get("name") or "") if isinstance(metadata, dict) else "")


def _require_core(kind: Kind, obj: Object) -> None:
    given, version = obj.get("kind") or kind.name, obj.get("apiVersion") or kind.api_version
    if (given, version) == (kind.name, kind.api_version):
        return
    handled = f'{given} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind.name}'
    if any((other.name, other.api_version) == (given, version) for other in KINDS if not other.custom):
        raise bad_request(f"{handled}: converting ({given}) to ({kind.name}): unknown conversion")
    raise bad_request(f'{handled}: no kind "{given}" is registered for version "{version}"')


async def read_patch(request: web.Request, kind: Kind) -> Callable[[Object], Any]:
    """The change that a PATCH asks for, as a function that leaves its argument alone.

    Raises:
        ApiError: 400, 413; 415 for a format that the kind does not take, such as strategic merge for a CRD.
    """
    content_type = request.content_type
    accepted = ["application/json-patch+json", "application/merge-patch+json"]
    if not kind.custom:
        accepted.append("application/strategic-merge-patch+json")
    if content_type not in accepted:
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
        )
    patch = _decode_patch(await _read(request))
    if content_type == accepted[0]:
        return lambda old: json_patch(old, patch)
    if not isinstance(patch, dict):
        text = f"json: cannot unmarshal {_go_type(patch)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding patch: {text}")
    if content_type == accepted[1]:
        return lambda old: merge_patch(old, patch)
    return lambda old: strategic_merge_patch(old, patch)


def _decode_patch(data: bytes) -> Any:
    try:
        return _load_json(data)
    except ApiError as refusal:
        raise bad_request(f"error decoding patch: {refusal.message}") from refusal


async def _read(request: web.Request) -> bytes:
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        text = f"Request entity too large: limit is {LARGEST_BODY_BYTES}"
        raise ApiError(413, "RequestEntityTooLarge", text) from error


def _load_json(data: bytes) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        ended = not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated")
        raise bad_request("unexpected end of JSON input" if ended else "the body is not valid JSON") from error
    except (ValueError, RecursionError) as error:
        raise bad_request("the body is not valid JSON") from error


def _refuse_constant(name: str) -> None:
    text = f"{name} is not JSON"
    raise ValueError(text)


def _load_yaml(data: bytes) -> Any:
    try:
        value = yaml.safe_load(data)
        json.dumps(value)  # YAML has values that JSON has not, such as dates
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise bad_request("the body is not valid YAML") from error
    return value
