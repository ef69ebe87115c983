"""The rules of `metadata` and `generation` (k8s.io/apiserver/pkg/registry/rest, read at v0.36)."""

import random
import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from app.simulator.clock import Clock
from app.simulator.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    EVENT,
    LEASE,
    NAMESPACE,
    NODE,
    POD_GROUP,
    RESOURCE_QUOTA,
    ROLE,
    ROLE_BINDING,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    Kind,
)
from app.simulator.objects import ApiError, Object
from app.simulator.refusals import Cause, bad_request, conflict, internal, invalid, other_uid

_RBAC = frozenset({ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING})
_WITHOUT_GENERATION = _RBAC | {
    *(NAMESPACE, NODE, EVENT, SERVICE, SERVICE_ACCOUNT, CONFIG_MAP, SECRET, LEASE, RESOURCE_QUOTA)
}
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion")
_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")
_MAX_ANNOTATIONS_BYTES = 256 * 1024
_MAX_SUBDOMAIN, _MAX_LABEL = 253, 63


def metadata_of(obj: Object) -> Object:
    """The `metadata` of an object that somebody sent.

    Raises:
        ApiError: 400 when it is not an object of its own or labels, annotations or finalizers have the wrong type.
    """
    metadata = obj.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_request("json: cannot unmarshal metadata into Go struct field of type v1.ObjectMeta")
    for field, kind in (("labels", dict), ("annotations", dict), ("finalizers", list), ("ownerReferences", list)):
        value = metadata.get(field)
        if value is None:
            metadata.pop(field, None)
        elif not isinstance(value, kind):
            raise bad_request(f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{field}")
    _check_texts(metadata)
    return metadata


def _check_texts(metadata: Object) -> None:
    for field in ("name", "namespace", "generateName", "resourceVersion", "uid"):
        if metadata.get(field):
            _require_text(field, (metadata[field],))
    for field in ("labels", "annotations"):
        if field in metadata:
            _require_text(field, metadata[field].values())
    _require_text("finalizers", metadata.get("finalizers", ()))
    for owner in metadata.get("ownerReferences", ()):
        named = [owner.get(field) or "" if isinstance(owner, dict) else None for field in _OWNER_FIELDS]
        _require_text("ownerReferences", named)


def require_name(metadata: Object, expected: str) -> None:
    """Refuse an object that has not the name of its path.

    Raises:
        ApiError: 400.
    """
    given = metadata.get("name")
    if not given:
        text = f"the name of the object ({expected} based on URL) was undeterminable: name must be provided"
        raise bad_request(text)
    if given != expected:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({expected})")


def require_namespace(metadata: Object, expected: str | None) -> None:
    """Refuse an object of another namespace than its path, and fill in a missing one.

    Raises:
        ApiError: 400.
    """
    given = metadata.get("namespace")
    if not expected:
        return
    if given and given != expected:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = expected


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _require_text(field: str, values: Iterable[Any]) -> None:
    if not all(map(_is_text, values)):
        raise bad_request(f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{field} of type string")


def stamp_new(kind: Kind, metadata: Object) -> None:
    """Give a new object its name (of `generateName`), uid, time and generation."""
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + "".join(random.choices(_NAME_LETTERS, k=5))
    for field in (*_KEPT, "managedFields", "selfLink"):
        metadata.pop(field, None)
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = Clock.stamp()
    if kind not in _WITHOUT_GENERATION:
        metadata["generation"] = 1
    _drop_empty(metadata)


def name_causes(kind: Kind, metadata: Object) -> Iterator[Cause]:
    """What is wrong with the name or the size of the annotations of a new object."""
    name = metadata.get("name")
    if sum(len(key) + len(value) for key, value in metadata.get("annotations", {}).items()) > _MAX_ANNOTATIONS_BYTES:
        text = f"Too long: may not be more than {_MAX_ANNOTATIONS_BYTES} bytes"
        yield Cause("metadata.annotations", text, "FieldValueTooLong")
    if not name or not isinstance(name, str):
        text = "Required value: name or generateName is required"
        yield Cause("metadata.name", text, "FieldValueRequired")
        return
    if kind in _RBAC:
        yield from _path_segment_causes(name)
        return
    pattern, longest, rule = (SUBDOMAIN, _MAX_SUBDOMAIN, SUBDOMAIN_RULE)
    if kind in (NAMESPACE, SERVICE):
        pattern, longest, rule = (_LABEL, _MAX_LABEL, _LABEL_RULE)
    if len(name) > longest:
        yield Cause("metadata.name", f'Invalid value: "{name}": must be no more than {longest} bytes')
    elif not pattern.fullmatch(name):
        yield Cause("metadata.name", f'Invalid value: "{name}": {rule}')


def _path_segment_causes(name: str) -> Iterator[Cause]:
    """Roles and bindings may have any name that fits into a path, such as `system:discovery`."""
    if name in (".", ".."):
        yield Cause("metadata.name", f"Invalid value: \"{name}\": may not be '{name}'")
    for part in ("/", "%"):
        if part in name:
            yield Cause("metadata.name", f"Invalid value: \"{name}\": may not contain '{part}'")


def carry_over(kind: Kind, old: Object, metadata: Object, *, patched: bool = False) -> None:
    """Check the identity and version that an update names, and keep the fields that nobody may change.

    Raises:
        ApiError: 409 on a stale version or another uid, which is 422 when a patch made it; 422 on another time of
            deletion or a finalizer added while the object is being deleted; 500 on a version that is no number.
    """
    name, uid, version = old["name"], metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != old["uid"]:
        raise _immutable(kind, name, "uid", uid) if patched else other_uid(kind, name, uid, old["uid"])
    if version and not (version.isascii() and version.isdigit()):
        raise internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if version and version != old["resourceVersion"]:
        raise conflict(kind, name)
    deleted = metadata.get("deletionTimestamp")
    if deleted and deleted != old.get("deletionTimestamp"):
        raise _immutable(kind, name, "deletionTimestamp", deleted)
    for field in _KEPT:
        metadata.pop(field, None)
        if field in old:
            metadata[field] = old[field]
    for field in ("managedFields", "selfLink"):
        metadata.pop(field, None)
    _drop_empty(metadata)
    _refuse_new_finalizers(kind, old, metadata)


def _immutable(kind: Kind, name: str, field: str, value: Any) -> ApiError:
    """A kube-apiserver checks the metadata of an update twice, and says so."""
    cause = Cause(f"metadata.{field}", f'Invalid value: "{value}": field is immutable')
    refusal = invalid(kind, name, [cause])
    refusal.details["causes"] *= 2
    return refusal


def _drop_empty(metadata: Object) -> None:
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if field in metadata and not metadata[field]:
            del metadata[field]


def _refuse_new_finalizers(kind: Kind, old: Object, metadata: Object) -> None:
    if "deletionTimestamp" not in old:
        return
    added = sorted(set(metadata.get("finalizers", ())) - set(old.get("finalizers", ())))
    if added:
        found = ", ".join(f'"{name}"' for name in added)
        text = (
            "Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{found}}}"
        )
        raise invalid(kind, old["name"], [Cause("metadata.finalizers", text, "FieldValueForbidden")])


def moves_generation(kind: Kind, old: Object, new: Object) -> bool:
    """Whether a write changes what the generation counts.

    For PodGroup that is its status too, since it has no status subresource. A pod's binding does not count.
    """
    if kind in _WITHOUT_GENERATION:
        return False
    ignored = {"metadata"} if kind is POD_GROUP else {"metadata", "status"}
    return {k: v for k, v in old.items() if k not in ignored} != {k: v for k, v in new.items() if k not in ignored}
