"""The options of a DELETE, from its body or its query (k8s.io/apimachinery, `ValidateDeleteOptions`, read at v0.36)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.simulator.deletion import Deletion
from app.simulator.objects import Object, Propagation
from app.simulator.refusals import Cause, bad_request, invalid_options
from app.simulator.rest.query import integer, is_dry_run, unsupported

_PROPAGATIONS: dict[str, Propagation] = {"Foreground": "Foreground", "Background": "Background", "Orphan": "Orphan"}


def deletion_options(query: Mapping[str, str], body: Any) -> Deletion:
    """Delete options of the body, or else of the query.

    Raises:
        ApiError: 400, 422.
    """
    given: Object = body if body is not None else {}
    _check_shape(given)
    policy = given.get("propagationPolicy") or query.get("propagationPolicy")
    causes = list(_causes(given, policy))
    if causes:
        raise invalid_options("DeleteOptions", causes)
    preconditions = given.get("preconditions") or {}
    return Deletion(
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
        grace_seconds=_grace_seconds(given, query),
        propagation="Orphan" if given.get("orphanDependents") is True else _PROPAGATIONS[policy or "Background"],
        dry_run=bool(given.get("dryRun")) or is_dry_run(query, "DeleteOptions"),
    )


def _check_shape(given: Any) -> None:
    if not isinstance(given, dict) or not isinstance(given.get("preconditions") or {}, dict):
        raise bad_request("the delete options are not a JSON object")
    kind, version = given.get("kind") or "DeleteOptions", given.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        raise bad_request(f'no kind "{kind}" is registered for version "{version}"')
    if not isinstance(given.get("propagationPolicy") or "", str) or not isinstance(given.get("dryRun") or [], list):
        raise bad_request("json: cannot unmarshal into Go value of type v1.DeleteOptions")


def _causes(given: Object, policy: str | None) -> Iterator[Cause]:
    if policy and given.get("orphanDependents") is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        yield Cause("propagationPolicy", f'Invalid value: "{policy}": {text}')
    elif policy and policy not in _PROPAGATIONS:
        yield unsupported("propagationPolicy", json.dumps(policy), (*_PROPAGATIONS, "nil"))
    dry_run = given.get("dryRun") or []
    if dry_run not in ([], ["All"]):
        yield unsupported("dryRun", json.dumps(dry_run), ("All",))


def _grace_seconds(given: Object, query: Mapping[str, str]) -> int | None:
    grace = given.get("gracePeriodSeconds")
    if grace is None:
        return integer(query, "gracePeriodSeconds") if query.get("gracePeriodSeconds") else None
    if not isinstance(grace, int) or isinstance(grace, bool):
        raise bad_request("json: cannot unmarshal into Go struct field DeleteOptions.gracePeriodSeconds of type int64")
    return grace
