"""Deleting: preconditions, grace, finalizers, propagation (k8s.io/apiserver/pkg/registry, read at v0.36)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.simulator.admission import Admission
from app.simulator.history import Record
from app.simulator.kinds import NAMESPACE, POD, Kind
from app.simulator.objects import Object, Propagation
from app.simulator.refusals import not_found, precondition_failed
from app.simulator.store import Key, Store, key_of

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_DEFAULT_GRACE_SECONDS = 30
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Deletion:
    """The options of one delete. `grace_seconds` is None for the object's own."""

    uid: str | None = None
    version: str | None = None
    grace_seconds: int | None = None
    propagation: Propagation = "Background"
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The object after a delete, and whether it is gone already."""

    record: Record
    gone: bool


def delete(store: Store, admission: Admission, kind: Kind, key: Key, options: Deletion) -> Outcome:
    """Delete, or mark as being deleted while finalizers or the grace period of a bound pod hold it.

    Raises:
        ApiError: 404; 409 Conflict when a precondition does not hold; 400 of admission.
    """
    record = store.get(kind, key)
    if record is None:
        raise not_found(kind, key[1])
    _check_preconditions(kind, record.object["metadata"], options)
    admission.validate("DELETE", kind, record.object, None)
    marked = _marked(kind, record.object, options)
    grace = marked["metadata"].get("deletionGracePeriodSeconds")
    held = bool(grace or marked["metadata"].get("finalizers")) or kind is NAMESPACE
    if options.dry_run:
        return Outcome(Record(marked, record.version), gone=not held)
    if held:
        return Outcome(record if marked == record.object else store.put(kind, marked), gone=False)
    if "deletionTimestamp" in record.object["metadata"] and marked != record.object:
        store.put(kind, marked)  # a kubelet's last word: the grace period becomes 0, and watches see that
    return Outcome(store.remove(kind, key), gone=True)


def finish_deletion(store: Store, kind: Kind, old: Object, new: Object) -> Record | None:
    """Remove an object whose update took the last thing that held it; None when it stays."""
    metadata = new["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers") or kind is NAMESPACE:
        return None
    if metadata.get("deletionGracePeriodSeconds"):
        return None
    if not old["metadata"].get("finalizers"):
        return None
    store.remove(kind, key_of(old))
    return Record(new, 0)


def _check_preconditions(kind: Kind, metadata: Object, options: Deletion) -> None:
    name = metadata["name"]
    if options.uid and options.uid != metadata["uid"]:
        text = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise precondition_failed(kind, name, text)
    if options.version and options.version != metadata["resourceVersion"]:
        text = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified"
        )
        raise precondition_failed(kind, name, text)


def _marked(kind: Kind, obj: Object, options: Deletion) -> Object:
    metadata = dict(obj["metadata"])
    finalizers = [f for f in metadata.get("finalizers", ()) if f not in (FOREGROUND, ORPHAN)]
    if options.propagation != "Background":
        finalizers.append(FOREGROUND if options.propagation == "Foreground" else ORPHAN)
    elif "deletionTimestamp" in metadata:
        finalizers = list(metadata.get("finalizers", ()))
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers
    grace = _grace_seconds(kind, obj, options)
    already = metadata.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in metadata or (already is not None and grace < already):
        metadata["deletionGracePeriodSeconds"] = grace
        metadata["deletionTimestamp"] = _in_seconds(grace)
    if "deletionTimestamp" not in obj["metadata"] and "generation" in metadata:
        metadata["generation"] += 1
    marked = {**obj, "metadata": metadata}
    if kind is NAMESPACE:
        metadata.pop("deletionGracePeriodSeconds", None)  # the namespace's own registry sets the time alone
        marked["status"] = {**obj.get("status", {}), "phase": "Terminating"}
    return marked


def _grace_seconds(kind: Kind, obj: Object, options: Deletion) -> int:
    """Only pods that have a node and have not ended get grace."""
    if kind is not POD or not obj["spec"].get("nodeName") or obj["status"].get("phase") in _ENDED:
        return 0
    if options.grace_seconds is not None:
        return max(0, options.grace_seconds)
    return int(obj["spec"].get("terminationGracePeriodSeconds", _DEFAULT_GRACE_SECONDS))


def _in_seconds(seconds: int) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
