"""The two objects that tell an API server to ask the simulated Volcano (scope as Helm has it, volcano-facts 3)."""

import base64

from app.simulator.kinds import JOB, POD_GROUP, QUEUE, Kind
from app.simulator.objects import Object
from app.simulator.remote.kinds import MUTATING_WEBHOOKS, SIMULATED, VALIDATING_WEBHOOKS
from app.simulator.remote.reviews import Step

NAME = "pumice-simulated-volcano"

_TIMEOUT_SECONDS = 10
_SKIPPED_NAMESPACES = ("volcano-system", "kube-system")
_MUTATED: tuple[tuple[Kind, tuple[str, ...]], ...] = ((JOB, ("CREATE",)), (QUEUE, ("CREATE",)))
_VALIDATED: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    (JOB, ("CREATE", "UPDATE")),
    (POD_GROUP, ("CREATE",)),
    (QUEUE, ("CREATE", "UPDATE", "DELETE")),
)


def webhook_configurations(url: str, authority: bytes) -> list[tuple[Kind, Object]]:
    """Both configurations for a server at `url` whose certificate `authority` (PEM) vouches for."""
    return [
        (MUTATING_WEBHOOKS, _configuration("mutate", _MUTATED, url, authority)),
        (VALIDATING_WEBHOOKS, _configuration("validate", _VALIDATED, url, authority)),
    ]


def _configuration(step: Step, scope: tuple[tuple[Kind, tuple[str, ...]], ...], url: str, authority: bytes) -> Object:
    return {
        "metadata": {"name": NAME, "labels": dict(SIMULATED)},
        "webhooks": [_webhook(step, kind, operations, url, authority) for kind, operations in scope],
    }


def _webhook(step: Step, kind: Kind, operations: tuple[str, ...], url: str, authority: bytes) -> Object:
    outside = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(_SKIPPED_NAMESPACES)}
    return {
        "name": f"{step}{kind.name.lower()}.volcano.sh",
        "clientConfig": {"url": f"{url}/{kind.plural}/{step}", "caBundle": base64.b64encode(authority).decode()},
        "rules": [
            {
                "apiGroups": [kind.group],
                "apiVersions": [kind.version],
                "resources": [kind.plural],  # not kind.plural/status: the status subresource is not asked about
                "operations": list(operations),
                "scope": "*",
            }
        ],
        "namespaceSelector": {"matchExpressions": [outside]},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": _TIMEOUT_SECONDS,
    }
