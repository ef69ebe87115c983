"""The refusals of a kube-apiserver, with its words (k8s.io/apimachinery/pkg/api/errors, read at v0.36)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from app.simulator.kinds import Kind
from app.simulator.objects import ApiError, Object

STALE = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that is wrong: `Invalid value: -1: ...` and the like."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


def resource(kind: Kind) -> str:
    """`jobs.batch.volcano.sh`, or `pods` for the core group."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def _details(kind: Kind, name: str, label: str) -> Object:
    details: Object = {"kind": label}
    if name:
        details["name"] = name
    if kind.group:
        details["group"] = kind.group
    return details


def not_found(kind: Kind, name: str) -> ApiError:
    """404."""
    return ApiError(404, "NotFound", f'{resource(kind)} "{name}" not found', _details(kind, name, kind.plural))


def already_exists(kind: Kind, name: str) -> ApiError:
    """409 of a second create."""
    return ApiError(
        409, "AlreadyExists", f'{resource(kind)} "{name}" already exists', _details(kind, name, kind.plural)
    )


def precondition_failed(kind: Kind, name: str, why: str) -> ApiError:
    """409 of a delete whose precondition does not hold. It names the kind where other conflicts name the resource."""
    label = f"{kind.name}.{kind.group}" if kind.group else kind.name
    message = f'Operation cannot be fulfilled on {label} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(kind, name, kind.name))


def other_uid(kind: Kind, name: str, given: str, stored: str) -> ApiError:
    """409 of a write that names another uid than the object's."""
    text = f"Precondition failed: UID in precondition: {given}, UID in object meta: {stored}"
    return conflict(kind, name, f"StorageError: invalid object, Code: 4, AdditionalErrorMsg: {text}")


def internal(message: str) -> ApiError:
    """500 of an error that a kube-apiserver does not translate: without reason and details."""
    return ApiError(500, "", message)


def unspecified_version(kind: Kind, name: str) -> ApiError:
    """422 of a replacement of a custom resource that does not say which version it replaces."""
    cause = Cause("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
    details = {**_details(kind, name, kind.plural), "causes": [_cause(cause)]}
    text = f"{cause.field}: {cause.message}"
    return ApiError(422, "Invalid", f'{resource(kind)} "{name}" is invalid: {text}', details)


def wrong_kind(kind: Kind, given: str, name: str) -> ApiError:
    """422 of a custom resource that says it is of another kind."""
    text = f'Invalid value: "{given}": must be {kind.name}'
    details = {**_details(kind, name, given), "causes": [_cause(Cause("kind", text))]}
    return ApiError(422, "Invalid", f'{given}.{kind.group} "{name}" is invalid: kind: {text}', details)


def unusable_patch(patched: object, why: str) -> ApiError:
    """422 of a patch whose result is no object of the kind."""
    text = f"Invalid value: {json.dumps(json.dumps(patched))}: {why}"
    details = {"causes": [_cause(Cause("patch", text))]}
    return ApiError(422, "Invalid", f' "" is invalid: patch: {text}', details)


def conflict(kind: Kind, name: str, why: str = STALE) -> ApiError:
    """409 of a stale version or a precondition that does not hold."""
    message = f'Operation cannot be fulfilled on {resource(kind)} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(kind, name, kind.plural))


def forbidden(kind: Kind, name: str, why: str) -> ApiError:
    """403 of admission."""
    message = f'{resource(kind)} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(kind, name, kind.plural))


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 with every wrong field."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    label = f"{kind.name}.{kind.group}" if kind.group else kind.name
    details = _details(kind, name, kind.name)
    details["causes"] = [_cause(cause) for cause in causes]
    return ApiError(422, "Invalid", f'{label} "{name}" is invalid: {text}', details)


def _cause(cause: Cause) -> Object:
    return {"reason": cause.reason, "message": cause.message, "field": cause.field}


def invalid_options(options: str, causes: Sequence[Cause]) -> ApiError:
    """422 of query parameters; `options` is their kind, such as `ListOptions`."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {"group": "meta.k8s.io", "kind": options, "causes": [_cause(cause) for cause in causes]}
    return ApiError(422, "Invalid", f'{options}.meta.k8s.io "" is invalid: {text}', details)


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def expired(message: str) -> ApiError:
    """410 of a version or a continue token that is no longer kept."""
    return ApiError(410, "Expired", message)


def unsupported_media_type(message: str) -> ApiError:
    """415."""
    return ApiError(415, "UnsupportedMediaType", message)


def status_body(error: ApiError) -> Object:
    """The `Status` object of a refusal. Webhook denials have neither reason nor details, as in Kubernetes."""
    body: Object = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
    }
    if error.reason:
        body["reason"] = error.reason
    if error.details or error.reason == "Forbidden":
        body["details"] = error.details
    body["code"] = error.code
    return body
