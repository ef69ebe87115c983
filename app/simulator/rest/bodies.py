"""Request bodies: JSON or YAML, and the patch formats."""

import json
from collections.abc import Callable
from typing import Any

import yaml
from aiohttp import web

from app.simulator.kinds import VOLCANO_BATCH, VOLCANO_BUS, VOLCANO_SCHEDULING, Kind
from app.simulator.objects import ApiError, Object
from app.simulator.patches import json_patch, merge_patch, strategic_merge_patch
from app.simulator.refusals import bad_request, unsupported_media_type
from app.simulator.rest.paths import Target

LARGEST_BODY_BYTES = 3 * 1024 * 1024
"""What a kube-apiserver accepts (--max-resource-write-bytes)."""

_CUSTOM = frozenset({VOLCANO_BATCH, VOLCANO_SCHEDULING, VOLCANO_BUS})
_JSON, _YAML = "application/json", "application/yaml"


async def read_value(request: web.Request) -> Any:
    """The value of a body that is JSON or YAML; None for an empty body.

    Raises:
        ApiError: 400 malformed, 413 above 3 MiB, 415 another content type.
    """
    data = await _read(request)
    if not data.strip():
        return None
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

    Raises:
        ApiError: 400, 413, 415.
    """
    obj = await read_value(request)
    if not isinstance(obj, dict):
        raise bad_request("the object provided is unrecognized: it is not a JSON object")
    kind = target.kind
    if obj.get("kind", kind.name) != kind.name or obj.get("apiVersion", kind.api_version) != kind.api_version:
        raise bad_request(
            f"the API version and kind in the data do not match the expected {kind.api_version}, Kind={kind.name}"
        )
    metadata = obj.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_request("json: cannot unmarshal metadata into Go struct field of type v1.ObjectMeta")
    _agree(metadata, "namespace", target.namespace if kind.namespaced else "")
    if target.name is not None:
        _agree(metadata, "name", target.name)
    return obj


def _agree(metadata: Object, field: str, expected: str | None) -> None:
    given = metadata.get(field)
    if expected and given and given != expected:
        if field == "namespace":
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({expected})")
    if expected:
        metadata[field] = expected


async def read_patch(request: web.Request, kind: Kind) -> Callable[[Object], Any]:
    """The change that a PATCH asks for, as a function that leaves its argument alone.

    Raises:
        ApiError: 400, 413; 415 for a format that the kind does not take, such as strategic merge for a CRD.
    """
    content_type = request.content_type
    accepted = ["application/json-patch+json", "application/merge-patch+json"]
    if kind.group not in _CUSTOM:
        accepted.append("application/strategic-merge-patch+json")
    if content_type not in accepted:
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
        )
    patch = _load_json(await _read(request))
    if content_type == accepted[0]:
        return lambda old: json_patch(old, patch)
    if not isinstance(patch, dict):
        raise bad_request("the patch is not a JSON object")
    if content_type == accepted[1]:
        return lambda old: merge_patch(old, patch)
    return lambda old: strategic_merge_patch(old, patch)


async def _read(request: web.Request) -> bytes:
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        text = f"Request entity too large: limit is {LARGEST_BODY_BYTES}"
        raise ApiError(413, "RequestEntityTooLarge", text) from error


def _load_json(data: bytes) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse_constant)
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
