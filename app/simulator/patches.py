"""The patch formats of the Kubernetes API, as pure functions. They never change their arguments."""

from typing import Any

import jsonpatch
import jsonpointer

from app.simulator.objects import ApiError, Object, clone
from app.simulator.refusals import bad_request

_MERGE_KEYS = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "ports": "containerPort",
    "schedulingGates": "name",
    "secrets": "name",
    "taints": "key",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_MERGED_PRIMITIVES = frozenset({"finalizers"})
_DIRECTIVE = "$patch"


def merge_patch(target: Any, patch: Any) -> Any:
    """JSON merge patch, RFC 7386. The answer shares what the patch does not touch with `target`."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(target: Object, operations: Any) -> Object:
    """JSON patch, RFC 6902.

    Raises:
        ApiError: 400 when it is no list of objects; 422 when it cannot be applied (an unknown operation, a path that
            is not there, a `test` that fails).
    """
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise bad_request("error decoding patch: json: cannot unmarshal into Go value of type []handlers.jsonPatchOp")
    try:
        patched = jsonpatch.JsonPatch(operations).apply(clone(target))
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError, ValueError) as error:
        text = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", text) from error
    return patched  # type: ignore[no-any-return]


def strategic_merge_patch(target: Any, patch: Object) -> Object:
    """Strategic merge patch of the core kinds: a merge patch that merges the lists that have a patchMergeKey.

    Known lists are merged by their key, others are replaced (k8s.io/api struct tags `patchStrategy`, `patchMergeKey`).
    `$patch`, `$deleteFromPrimitiveList`, `$retainKeys` are obeyed; `$setElementOrder` only says an order: ignored.
    """
    if patch.get(_DIRECTIVE) == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    merged: Object = dict(target) if isinstance(target, dict) else {}
    if "$retainKeys" in patch:
        merged = {key: value for key, value in merged.items() if key in patch["$retainKeys"]}
    for key, value in patch.items():
        if key.startswith("$"):
            _directive(merged, key, value)
        elif value is None or (isinstance(value, dict) and value.get(_DIRECTIVE) == "delete"):
            merged.pop(key, None)
        else:
            merged[key] = _strategic_value(key, merged.get(key), value)
    return merged


def _directive(merged: Object, key: str, value: Any) -> None:
    name, _, field = key.partition("/")
    if name == "$deleteFromPrimitiveList" and isinstance(merged.get(field), list):
        merged[field] = [item for item in merged[field] if item not in value]


def _strategic_value(key: str, old: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return strategic_merge_patch(old, value)
    if not isinstance(value, list):
        return value
    if key in _MERGED_PRIMITIVES:
        return [*(old or []), *(item for item in value if item not in (old or []))]
    merge_key = _MERGE_KEYS.get(key)
    if merge_key and all(isinstance(item, dict) for item in value):
        return _merged_list(merge_key, old or [], value)
    return value


def _merged_list(merge_key: str, old: list[Object], patch: list[Object]) -> list[Object]:
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if _DIRECTIVE not in item]
    merged = {item.get(merge_key): item for item in old}
    for item in patch:
        if item.get(_DIRECTIVE) == "delete":
            merged.pop(item.get(merge_key), None)
        else:
            merged[item.get(merge_key)] = strategic_merge_patch(merged.get(item.get(merge_key)), item)
    return list(merged.values())
