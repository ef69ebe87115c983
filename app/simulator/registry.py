"""The write path of the API server: admission, defaults, checks, versions, finalizers.

It is synchronous, so each call is atomic.
"""

import json
from collections.abc import Callable
from typing import Any

from app.simulator.access.checks import rbac_causes
from app.simulator.admission import Admission, NoAdmission, Operation, resolve_priority
from app.simulator.clock import Clock
from app.simulator.defaults import apply_defaults, drop_nulls
from app.simulator.deletion import finish_deletion
from app.simulator.history import Record
from app.simulator.kinds import CONFIG_MAP, NAMESPACE, NODE, POD, Kind
from app.simulator.metadata import (
    carry_over,
    metadata_of,
    moves_generation,
    name_causes,
    require_name,
    require_namespace,
    stamp_new,
)
from app.simulator.metadata_checks import data_causes, metadata_causes
from app.simulator.objects import ApiError, Object, clone
from app.simulator.pod_checks import pod_causes
from app.simulator.pod_gates import explain_gates, gates_of
from app.simulator.pod_updates import pod_update_causes
from app.simulator.refusals import (
    Cause,
    already_exists,
    bad_request,
    forbidden,
    internal,
    invalid,
    not_found,
    other_uid,
    unusable_patch,
    wrong_kind,
)
from app.simulator.schema_checks import TYPE_INVALID, schema_causes
from app.simulator.schemas import SCHEMAS, SHAPES
from app.simulator.store import Key, Store, key_of

_STATUS_KEPT_ON_CREATE = frozenset({NODE, NAMESPACE})


class Registry:
    """Writes to a store by the rules of the Kubernetes API. Reads go to `store` itself."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.admission: Admission = NoAdmission()

    def get(self, kind: Kind, key: Key) -> Record:
        """One object.

        Raises:
            ApiError: 404.
        """
        record = self.store.get(kind, key)
        if record is None:
            raise not_found(kind, key[1])
        return record

    def create(self, kind: Kind, obj: Object, *, dry_run: bool = False) -> Record:
        """Store a new object, which belongs to the registry from now on.

        Raises:
            ApiError: 400, 403, 404 (no such namespace), 409 AlreadyExists, 422, 500 (a version is given).
        """
        metadata = metadata_of(obj)
        if metadata.get("resourceVersion"):
            raise internal("resourceVersion should not be set on objects to be created")
        obj["apiVersion"], obj["kind"] = kind.api_version, kind.name
        stamp_new(kind, metadata)
        self._require_namespace(kind, metadata)
        if "status" in kind.subresources and kind not in _STATUS_KEPT_ON_CREATE:
            obj.pop("status", None)
        obj = self._admitted(kind, None, obj)
        key = key_of(obj)
        if self.store.get(kind, key) is not None:
            raise already_exists(kind, key[1])
        return Record(obj, 0) if dry_run else self.store.put(kind, obj)

    def replace(
        self,
        kind: Kind,
        obj: Object,
        subresource: str | None = None,
        *,
        dry_run: bool = False,
        patched: bool = False,
    ) -> Record:
        """Store a changed object. A write to the object ignores `status`, one to `status` ignores everything else.

        `patched` says that a patch made the object: some refusals differ then.

        Raises:
            ApiError: 400, 404, 409 Conflict, 422.
        """
        metadata = metadata_of(obj)
        old = self.get(kind, (metadata.get("namespace") or "", metadata.get("name") or ""))
        carry_over(kind, old.object["metadata"], metadata, patched=patched)
        obj["apiVersion"], obj["kind"] = kind.api_version, kind.name
        new = self._only_its_part(kind, old.object, obj, subresource)
        if subresource is None:
            new = self._admitted(kind, old.object, new)
        if new == old.object:
            return old
        if moves_generation(kind, old.object, new):
            new["metadata"]["generation"] = old.object["metadata"].get("generation", 0) + 1
        if dry_run:
            return Record(new, old.version)
        gone = finish_deletion(self.store, kind, old.object, new)
        return gone or self.store.put(kind, new)

    def patch(
        self,
        kind: Kind,
        key: Key,
        change: Callable[[Object], Any],
        subresource: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Record:
        """Store what `change` makes of the present object. It must not change its argument.

        Raises:
            ApiError: 400, 404, 409 Conflict, 422.
        """
        old = self.get(kind, key)
        new = clone(change(old.object))
        _check_patched(kind, new)
        require_name(new["metadata"], key[1])
        require_namespace(new["metadata"], key[0])
        return self.replace(kind, new, subresource, dry_run=dry_run, patched=True)

    def bind(self, namespace: str, pod: str, node: str, uid: str | None = None, *, dry_run: bool = False) -> None:
        """Assign a pod to a node, as pods/binding does.

        Raises:
            ApiError: 404; 409 when it is assigned, being deleted, or has another uid; 422 without a node's name.
        """
        old = self.get(POD, (namespace, pod)).object
        if not node:
            raise invalid(POD, pod, [Cause("target.name", "Required value", "FieldValueRequired")])
        if uid and uid != old["metadata"]["uid"]:
            raise other_uid(POD, pod, uid, old["metadata"]["uid"])
        if "deletionTimestamp" in old["metadata"]:
            raise _binding_conflict(pod, f"pod {pod} is being deleted, cannot be assigned to a host")
        if old["spec"].get("nodeName"):
            raise _binding_conflict(pod, f'pod {pod} is already assigned to node "{old["spec"]["nodeName"]}"')
        if gates_of(old):
            raise _binding_conflict(pod, f"pod {pod} has non-empty .spec.schedulingGates")
        if not dry_run:
            self.store.put(POD, _assigned(old, node))

    def _require_namespace(self, kind: Kind, metadata: Object) -> None:
        if not kind.namespaced:
            metadata.pop("namespace", None)
            return
        name = metadata.get("namespace") or ""
        namespace = self.store.get(NAMESPACE, ("", name))
        if namespace is None:
            raise not_found(NAMESPACE, name)
        if "deletionTimestamp" in namespace.object["metadata"]:
            text = f"unable to create new content in namespace {name} because it is being terminated"
            refusal = forbidden(kind, metadata.get("name") or "", text)
            why = {"reason": "NamespaceTerminating", "message": f"namespace {name} is being terminated"}
            refusal.details["causes"] = [{**why, "field": "metadata.namespace"}]
            raise refusal

    @staticmethod
    def _only_its_part(kind: Kind, old: Object, obj: Object, subresource: str | None) -> Object:
        if subresource == "status":
            written = {"status": obj.get("status") or {}}
            drop_nulls(kind, written)
            _check_types(kind, written)
            return {**old, "metadata": dict(old["metadata"]), **written}
        if "status" in kind.subresources:
            obj.pop("status", None)
            if "status" in old:
                obj["status"] = old["status"]
        return obj

    def _admitted(self, kind: Kind, old: Object | None, obj: Object) -> Object:
        operation: Operation = "UPDATE" if old else "CREATE"
        drop_nulls(kind, obj)
        _check_types(kind, obj)
        if kind is not POD or old is None:
            self._fill_in(kind, obj)
        elif refused := list(pod_update_causes(old, obj)):
            raise invalid(POD, old["metadata"]["name"], refused)
        obj = self.admission.mutate(operation, kind, old, obj)
        causes = [*name_causes(kind, obj["metadata"]), *metadata_causes(kind, obj["metadata"])]
        causes += rbac_causes(kind, old, obj)
        causes += schema_causes(SCHEMAS[kind], obj) if kind in SCHEMAS else ()
        causes += pod_causes(obj) if kind is POD and not old else ()
        causes += data_causes(obj) if kind is CONFIG_MAP else ()
        if causes:
            raise invalid(kind, str(obj["metadata"].get("name") or ""), causes)
        self.admission.validate(operation, kind, old, obj)
        return obj

    def _fill_in(self, kind: Kind, obj: Object) -> None:
        if kind in SHAPES and "spec" in SHAPES[kind]["properties"] and obj.get("spec") is None:
            obj["spec"] = {}
        apply_defaults(kind, obj)
        if kind is POD:
            resolve_priority(self.store, kind, obj)
            explain_gates(obj, Clock.stamp())


def _check_patched(kind: Kind, new: Any) -> None:
    """Refuse the result of a patch that is no object of its kind any more. Core kinds may leave out what they are."""
    if not isinstance(new, dict):
        raise unusable_patch(new, "json: cannot unmarshal into Go value of type map[string]interface {}")
    given, version = new.get("kind") or "", new.get("apiVersion") or ""
    if kind.custom and not given:
        raise unusable_patch(new, f"Object 'Kind' is missing in '{json.dumps(new)}'")
    if kind.custom and version == kind.api_version and given != kind.name:
        raise wrong_kind(kind, str(given), str((new.get("metadata") or {}).get("name") or ""))
    if given not in ("", kind.name) or version not in ("", kind.api_version):
        raise unusable_patch(new, f'no kind "{given}" is registered for version "{version}"')
    try:
        if new.get("metadata") is None:
            new["metadata"] = {}
        metadata_of(new)
        drop_nulls(kind, new)
        if not kind.custom:
            _check_types(kind, new)
    except ApiError as refusal:
        raise unusable_patch(new, refusal.message) from refusal


def _binding_conflict(pod: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on pods/binding "{pod}": {why}'
    return ApiError(409, "Conflict", message, {"name": pod, "kind": "pods/binding"})


def _check_types(kind: Kind, obj: Object) -> None:
    """Refuse wrong types before anything reads them: 400 for core kinds, 422 for custom resources."""
    schema = SCHEMAS.get(kind) or SHAPES.get(kind, {})
    causes = [c for c in schema_causes(schema, obj, nulls=kind not in SCHEMAS) if c.reason == TYPE_INVALID]
    if causes and kind in SCHEMAS:
        raise invalid(kind, str(obj.get("metadata", {}).get("name") or ""), causes)
    if causes:
        raise bad_request(f"json: cannot unmarshal {kind.name}: {causes[0].message}")


def _assigned(pod: Object, node: str) -> Object:
    bound = clone(pod)
    bound["spec"]["nodeName"] = node
    bound["status"].pop("nominatedNodeName", None)
    conditions = [c for c in bound["status"].get("conditions", ()) if c["type"] != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": Clock.stamp()}
    bound["status"]["conditions"] = [*conditions, scheduled]
    return bound  # type: ignore[no-any-return]
