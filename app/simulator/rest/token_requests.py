"""`serviceaccounts/<name>/token`: a new token (k8s.io/kubernetes/pkg/registry/core/serviceaccount, read at v1.36)."""

from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from app.simulator.access.tokens import AUDIENCE, Tokens
from app.simulator.clock import Clock
from app.simulator.history import encode
from app.simulator.kinds import SERVICE_ACCOUNT
from app.simulator.metadata import metadata_of
from app.simulator.objects import ApiError, Object
from app.simulator.refusals import Cause, bad_request
from app.simulator.registry import Registry
from app.simulator.rest.bodies import read_core
from app.simulator.rest.paths import Target
from app.simulator.rest.query import is_dry_run
from app.simulator.rest.resources import json_answer, method_not_allowed

SHORTEST_SECONDS = 600
_LONGEST_SECONDS = 2**32
_DEFAULT_SECONDS = 3600
_GROUP, _KIND = "authentication.k8s.io", "TokenRequest"


async def token_answer(request: web.Request, target: Target, registry: Registry, tokens: Tokens) -> web.Response:
    """Give out a token of an account. It is bound to the account alone, whatever `boundObjectRef` says.

    Raises:
        ApiError: 400, 404 (no such account), 405; 409 for another uid; 422 for another name or a wrong duration.
    """
    if request.method != "POST":
        raise method_not_allowed()
    is_dry_run(request.query, "CreateOptions")
    body = await read_core(request, _KIND)
    metadata = metadata_of(body)
    for field, wanted in (("name", target.name), ("namespace", target.namespace)):
        if metadata.get(field) and metadata[field] != wanted:
            raise _other(field, metadata[field], str(target.name))
    account = registry.get(SERVICE_ACCOUNT, target.key).object
    uid = account["metadata"]["uid"]
    if metadata.get("uid") and metadata["uid"] != uid:
        text = f"the UID in the token request ({metadata['uid']}) does not match the UID of the service account ({uid})"
        raise _conflict(str(target.name), text)
    seconds, audiences = _read_spec(body)
    token, until = tokens.give(account, seconds, audiences)
    named = {"name": target.name, "namespace": target.namespace, "uid": uid, "creationTimestamp": Clock.stamp()}
    answer: Object = {
        "kind": _KIND,
        "apiVersion": f"{_GROUP}/v1",
        "metadata": named,
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": None},
        "status": {"token": token, "expirationTimestamp": _stamp(until)},
    }
    return json_answer(encode(answer), 201)


def _read_spec(body: Object) -> tuple[int, list[str]]:
    spec = body.get("spec") or {}
    seconds: Any = spec.get("expirationSeconds") if isinstance(spec, dict) else ""
    audiences: Any = (spec.get("audiences") or [AUDIENCE]) if isinstance(spec, dict) else ""
    seconds = _DEFAULT_SECONDS if seconds is None else seconds
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise bad_request(f"json: cannot unmarshal into Go struct field {_KIND}.spec.expirationSeconds of type int64")
    if not isinstance(audiences, list) or not all(isinstance(name, str) for name in audiences):
        raise bad_request(f"json: cannot unmarshal into Go struct field {_KIND}.spec.audiences of type string")
    text = ""
    if seconds < SHORTEST_SECONDS:
        text = "may not specify a duration less than 10 minutes"
    if seconds > _LONGEST_SECONDS:
        text = "may not specify a duration larger than 2^32 seconds"
    if text:
        raise _invalid("", Cause("spec.expirationSeconds", f"Invalid value: {seconds}: {text}"))
    return seconds, audiences


def _other(field: str, given: str, name: str) -> ApiError:
    text = f"must match the service account {field} if specified"
    return _invalid(name, Cause(f"metadata.{field}", f'Invalid value: "{given}": {text}'))


def _invalid(name: str, cause: Cause) -> ApiError:
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field}]
    details: Object = {"name": name} if name else {}
    details |= {"group": _GROUP, "kind": _KIND, "causes": listed}
    text = f'{_KIND}.{_GROUP} "{name}" is invalid: {cause.field}: {cause.message}'
    return ApiError(422, "Invalid", text, details)


def _conflict(name: str, text: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {_KIND}.{_GROUP} "{name}": {text}'
    return ApiError(409, "Conflict", message, {"name": name, "group": _GROUP, "kind": _KIND})


def _stamp(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
