"""Questions about rights: SelfSubjectAccessReview and SubjectAccessReview (docs, "Authorization Overview")."""

from typing import Any

from aiohttp import web

from app.simulator.access.attributes import Attributes, User
from app.simulator.access.authorizer import Authorizer, Verdict
from app.simulator.history import encode
from app.simulator.objects import ApiError, Object
from app.simulator.refusals import Cause, bad_request
from app.simulator.rest.bodies import read_core
from app.simulator.rest.resources import json_answer, method_not_allowed

AUTHORIZATION, AUTHORIZATION_VERSION = "authorization.k8s.io", "v1"
SELF = "SelfSubjectAccessReview"
REVIEWS = {"selfsubjectaccessreviews": SELF, "subjectaccessreviews": "SubjectAccessReview"}
_PREFIX = f"/apis/{AUTHORIZATION}/{AUTHORIZATION_VERSION}/"
_FIELDS = ("verb", "group", "resource", "subresource", "namespace", "name")


def review_of(path: str) -> str | None:
    """The kind of review that a path makes; None for other paths."""
    return REVIEWS.get(path.removeprefix(_PREFIX)) if path.startswith(_PREFIX) else None


async def review_answer(request: web.Request, kind: str, user: User, authorizer: Authorizer) -> web.Response:
    """Answer a review; nothing is stored.

    Raises:
        ApiError: 400, 405; 422 when it asks about nothing, about two things, or about nobody.
    """
    if request.method != "POST":
        raise method_not_allowed()
    body = await read_core(request, kind)
    spec = body.get("spec") or {}
    if not isinstance(spec, dict):
        raise bad_request(f"json: cannot unmarshal into Go struct field {kind}.spec")
    about = _read_attributes(kind, spec)
    if kind != SELF:
        user = User(_text(kind, spec, "user"), tuple(_texts(kind, spec, "groups")))
    verdict = authorizer.judge(user, about)
    head = {"kind": kind, "apiVersion": f"{AUTHORIZATION}/{AUTHORIZATION_VERSION}", "metadata": {}}
    return json_answer(encode({**head, "spec": spec, "status": _status(verdict)}), 201)


def _status(verdict: Verdict) -> Object:
    status: Object = {"allowed": verdict.allowed}
    if verdict.reason:
        status["reason"] = verdict.reason
    return status


def _read_attributes(kind: str, spec: Object) -> Attributes:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    causes = list(_causes(kind, spec))
    if causes:
        raise _invalid(causes)
    if isinstance(resource, dict):
        return Attributes(**{field: _text(kind, resource, field) for field in _FIELDS})
    if isinstance(other, dict):
        return Attributes(_text(kind, other, "verb"), path=_text(kind, other, "path"))
    raise bad_request(f"json: cannot unmarshal into Go struct field {kind}.spec")


def _causes(kind: str, spec: Object) -> list[Cause]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    causes = []
    if resource is not None and other is not None:
        text = "cannot be specified in combination with resourceAttributes"
        causes.append(Cause("spec.nonResourceAttributes", f"Invalid value: {encode(other).decode()}: {text}"))
    if resource is None and other is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.append(Cause("spec.resourceAttributes", f"Invalid value: null: {text}"))
    if kind != SELF and not spec.get("user") and not spec.get("groups"):
        causes.append(Cause("spec.user", 'Invalid value: "": at least one of user or group must be specified'))
    return causes


def _invalid(causes: list[Cause]) -> ApiError:
    """A kube-apiserver has lost the kind by then, and names the group alone."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    details = {"group": AUTHORIZATION, "causes": listed}
    return ApiError(422, "Invalid", f'.{AUTHORIZATION} "" is invalid: {text}', details)


def _text(kind: str, spec: Object, field: str) -> str:
    value: Any = spec.get(field) or ""
    if not isinstance(value, str):
        raise bad_request(f"json: cannot unmarshal into Go struct field {kind}.spec.{field} of type string")
    return value


def _texts(kind: str, spec: Object, field: str) -> list[str]:
    values: Any = spec.get(field) or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise bad_request(f"json: cannot unmarshal into Go struct field {kind}.spec.{field} of type string")
    return values
