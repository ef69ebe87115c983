"""How much room annotations take, and on which objects they fit. Pure."""

from collections.abc import Mapping

MAXIMUM_BYTES = 262_144
"""Kubernetes' limit on all annotations of an object (apimachinery, `TotalAnnotationSizeLimitB`)."""

VOLCANO_BYTES = 4_096
"""Room for the annotations that Volcano adds to a pod: nine of them, most with a name of at most 253 characters."""


def members_size(members: Mapping[str, str]) -> int:
    """Bytes of all keys and values in UTF-8, as Kubernetes counts annotations."""
    return sum(len(key.encode()) + len(value.encode()) for key, value in members.items())


def for_pods(annotations: Mapping[str, str]) -> dict[str, str]:
    """A job's annotations for its pods: all, or none when Volcano's own would not fit beside them.

    A pod over the limit could never be created, although its Job was accepted.
    """
    return dict(annotations) if members_size(annotations) <= MAXIMUM_BYTES - VOLCANO_BYTES else {}
