"""A Volcano Job's metadata, and that of its pod templates. Pure."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from app.jobs.faults import Place
from app.jobs.importing.context import Context
from app.jobs.importing.draft import Draft, Section
from app.jobs.importing.known import METADATA, TEMPLATE_METADATA

_OWN_FINALIZER = "pumice.dev/recorded"
_OWN_LABELS = ("pumice.dev/job-id", "pumice.dev/team", "pumice.dev/installation-id")
"""What a Job of ours has in the cluster, whoever reads it there. A new job gets its own."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""`kubectl apply` keeps the whole document there; it says nothing that the document does not."""

_PLACE: Place = ("metadata",)


def translate_metadata(draft: Draft, body: Section, document: Mapping[str, Any], context: Context) -> None:
    """Read name, labels and annotations of the Job, and refuse what would put it elsewhere."""
    metadata = draft.mapping(document.get("metadata"), _PLACE)
    draft.check(metadata, _PLACE, METADATA)
    body.set("name", (*_PLACE, "name"), metadata.get("name"))
    if metadata.get("generateName") and "name" not in metadata:
        words = "Give the job a name; a used one gets other letters in the cluster by itself"
        draft.fault((*_PLACE, "generateName"), words, "unsupported-field")
        body.set("name", (*_PLACE, "generateName"), "from-generate-name")
    _namespace(draft, metadata, _PLACE, context)
    for index, finalizer in enumerate(draft.sequence(metadata.get("finalizers"), (*_PLACE, "finalizers"))):
        if finalizer != _OWN_FINALIZER:
            words = "Finalizers of others are not supported; leave it out"
            draft.fault((*_PLACE, "finalizers", index), words, "unsupported-value")
    for name, value in (("labels", _labels(metadata)), ("annotations", _annotations(metadata))):
        body.set(name, (*_PLACE, name), value)


def translate_template_metadata(draft: Draft, body: Section, templates: list[Any], context: Context) -> None:
    """Read labels and annotations of the pods, which here are those of the job."""
    first: dict[str, dict[str, str]] = {}
    for index, template in enumerate(templates):
        place: Place = ("spec", "tasks", index, "template", "metadata")
        metadata = draft.mapping(template.get("metadata"), place)
        draft.check(metadata, place, TEMPLATE_METADATA)
        _namespace(draft, metadata, place, context)
        for name, value in (("labels", _labels(metadata)), ("annotations", _annotations(metadata))):
            members = draft.mapping(value, (*place, name))
            if members != first.setdefault(name, members):
                words = f"Pods of all tasks have the job's {name}; give every task the same, or make a job of each"
                draft.fault((*place, name), words, "unsupported-value")
            _merge(draft, body, name, members, (*place, name))


def _merge(draft: Draft, body: Section, name: str, members: Mapping[str, Any], place: Place) -> None:
    """Add a template's labels or annotations to the job's."""
    known = body.values.get(name)
    if not isinstance(known, dict | None):
        return  # the Job's own are no object, which is a fault already
    merged = dict(known or {})
    for key, value in members.items():
        if key not in merged:
            draft.came_from((name, key), (*place, key))
            merged[key] = value
        elif merged[key] != value:
            words = f"The Job's {name} have another value; a job and its pods have the same here"
            draft.fault((*place, key), words, "unsupported-value")
    if merged:
        body.values[name] = merged


def _namespace(draft: Draft, metadata: Mapping[str, Any], place: Place, context: Context) -> None:
    if metadata.get("namespace") not in (None, "", context.namespace):
        words = f"Jobs of the team run in the namespace {context.namespace}; name that one, or leave it out"
        draft.fault((*place, "namespace"), words, "foreign-namespace")


def is_own(metadata: Any) -> bool:
    """Whether a Job was made by this service, by the labels that it writes: an id and the team."""
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(labels, dict) or not isinstance(labels.get("pumice.dev/team"), str):
        return False
    try:
        UUID(labels["pumice.dev/job-id"])
    except (KeyError, ValueError, AttributeError, TypeError):
        return False
    return True


def _labels(metadata: Mapping[str, Any]) -> Any:
    labels = metadata.get("labels")
    if not is_own(metadata) or not isinstance(labels, dict):
        return labels
    return {key: value for key, value in labels.items() if key not in _OWN_LABELS}


def _annotations(metadata: Mapping[str, Any]) -> Any:
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        return annotations
    return {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
