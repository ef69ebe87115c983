"""What an import depends on beside the document."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Context:
    """The team's and the operator's side of a translation.

    Attributes:
        namespace: of the team; a document may name no other.
        priorities: from a job's priority to its PriorityClass; None leaves it to the cluster.
        default_priority: of a job that names none.
        ttl_seconds: what every Job of ours has as `ttlSecondsAfterFinished`.
    """

    namespace: str
    priorities: Mapping[str, str | None]
    default_priority: str
    ttl_seconds: int
