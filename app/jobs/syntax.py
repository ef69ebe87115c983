"""What Kubernetes takes as a label, an annotation, a variable and an extended resource, and what is reserved.

Sources: Kubernetes docs "Labels and Selectors", "Annotations", "Extended resources"; apimachinery's
`IsQualifiedName` and `IsValidLabelValue`. Every function returns what is wrong as a sentence, or None. Pure.
"""

import re

from app.jobs.fields import is_subdomain
from app.names import fault_in_extended_resource

_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PART_LENGTH = 63
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")

_RESERVED = ("volcano.sh", "pumice.dev", "kubernetes.io", "k8s.io")
_SIMULATOR = "simulator.pumice.dev"
"""Annotations by which a job tells the simulated cluster how its pods live; they mean nothing to a real one."""

_GIVEN_VARIABLES = frozenset({"VC_TASK_INDEX", "VK_TASK_INDEX"})
JOB_ID_VARIABLE, TASK_VARIABLE = "PUMICE_JOB_ID", "PUMICE_TASK"
"""By these and VC_TASK_INDEX a worker knows who it is, for example to say how far it is."""

OWN_VARIABLES = frozenset({JOB_ID_VARIABLE, TASK_VARIABLE})
_VGPU_PARTS = frozenset({"volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"})


def _is_part(text: str) -> bool:
    return len(text) <= _PART_LENGTH and _PART.fullmatch(text) is not None


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return _is_part(name) and (not slash or is_subdomain(prefix))


def _within(prefix: str, domain: str) -> bool:
    return prefix == domain or prefix.endswith(f".{domain}")


def _is_reserved(key: str) -> bool:
    prefix, slash, _ = key.rpartition("/")
    return bool(slash) and any(_within(prefix, domain) for domain in _RESERVED)


def _fault_in_key(key: str) -> str | None:
    if not _is_key(key):
        return (
            'A key is a name of letters, digits, "-", "_" and ".", at most 63 characters, after an optional DNS '
            "subdomain and a slash"
        )
    return None


def fault_in_label_key(key: str) -> str | None:
    """What is wrong with the key of a label that a job brings."""
    if _is_reserved(key):
        return f"Keys under {', '.join(_RESERVED)} are reserved"
    return _fault_in_key(key)


def fault_in_selector_key(key: str) -> str | None:
    """What is wrong with the key of a node's label; any domain may be named."""
    return _fault_in_key(key)


def fault_in_label_value(value: str) -> str | None:
    """What is wrong with the value of a label."""
    if value and not _is_part(value):
        return (
            'A label value has at most 63 letters, digits, "-", "_" and ".", beginning and ending with one of the first'
        )
    return None


def fault_in_annotation_key(key: str) -> str | None:
    """What is wrong with the key of an annotation; Kubernetes does not mind its case."""
    lower = key.lower()
    if _is_reserved(lower) and lower.rpartition("/")[0] != _SIMULATOR:
        return f"Keys under {', '.join(_RESERVED)} are reserved"
    return _fault_in_key(lower)


def fault_in_variable(name: str) -> str | None:
    """What is wrong with the name of an environment variable."""
    if name in _GIVEN_VARIABLES:
        return "Volcano itself sets this variable"
    if name in OWN_VARIABLES:
        return "The service itself sets this variable"
    if _VARIABLE.fullmatch(name) is None or name.startswith(".."):
        return 'The name of a variable holds letters, digits, "_", "-" and ".", and does not begin with a digit'
    return None


def fault_in_resource(resource: str) -> str | None:
    """What is wrong with the name of an extended resource."""
    if resource in _VGPU_PARTS:
        return "Memory and cores of a virtual GPU go with a number of them; ask for volcano.sh/vgpu-number"
    return fault_in_extended_resource(resource)
