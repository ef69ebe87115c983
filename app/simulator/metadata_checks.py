"""What may stand in `metadata`, and the keys of a ConfigMap (k8s.io/apimachinery/pkg/api/validation, read at v0.36)."""

import re
from collections.abc import Iterator

from app.simulator.kinds import Kind
from app.simulator.metadata import SUBDOMAIN, SUBDOMAIN_RULE
from app.simulator.objects import Object
from app.simulator.refusals import Cause

_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", re.ASCII)
_NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII)
_DATA_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_LONGEST, _LONGEST_PREFIX = 63, 253
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def metadata_causes(kind: Kind, metadata: Object) -> Iterator[Cause]:
    """Every wrong label, annotation, finalizer and owner."""
    for key, value in metadata.get("labels", {}).items():
        yield from _cause("metadata.labels", key, qualified_name_faults(key))
        yield from _cause("metadata.labels", value, _value_faults(value))
    for key in metadata.get("annotations", {}):
        yield from _cause("metadata.annotations", key, qualified_name_faults(key.lower()))
    for index, name in enumerate(metadata.get("finalizers", ())):
        yield from _cause("metadata.finalizers", name, qualified_name_faults(name))
        if not kind.custom and "/" not in name and name not in _STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield from _cause(f"metadata.finalizers[{index}]", name, [text])
    for owner in metadata.get("ownerReferences", ()):
        yield from _owner_causes(owner)


def _cause(field: str, value: str, faults: list[str]) -> Iterator[Cause]:
    for fault in faults:
        yield Cause(field, f'Invalid value: "{value}": {fault}')


def qualified_name_faults(text: str) -> list[str]:
    """What is wrong with a key such as `example.com/name`, where the prefix may be missing."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [f"a valid label key must have at most one slash; {_NAME_RULE}"]
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif len(prefix) > _LONGEST_PREFIX:
        faults.append(f"prefix part must be no more than {_LONGEST_PREFIX} bytes")
    elif prefix and not SUBDOMAIN.fullmatch(prefix):
        faults.append(f"prefix part {SUBDOMAIN_RULE}")
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > _LONGEST:
        faults.append(f"name part must be no more than {_LONGEST} bytes")
    if not _NAME_PART.fullmatch(name):
        faults.append(_NAME_RULE)
    return faults


def _value_faults(value: str) -> list[str]:
    faults = [f"must be no more than {_LONGEST} bytes"] if len(value) > _LONGEST else []
    return faults if _VALUE.fullmatch(value) else [*faults, _VALUE_RULE]


def _owner_causes(owner: Object) -> Iterator[Cause]:
    if not (owner.get("apiVersion") or "").rpartition("/")[2]:
        yield Cause("metadata.ownerReferences.apiVersion", 'Invalid value: "": version must not be empty')
    for field in ("kind", "name", "uid"):
        if not owner.get(field):
            yield Cause(f"metadata.ownerReferences.{field}", 'Invalid value: "": must not be empty')


def data_causes(config_map: Object) -> Iterator[Cause]:
    """Every key of a ConfigMap's data that cannot be one."""
    for key in config_map.get("data") or {}:
        if not _DATA_KEY.fullmatch(key):
            yield from _cause(f"data[{key}]", key, [_DATA_KEY_RULE])
