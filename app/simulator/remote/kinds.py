"""Kinds that only a real kube-apiserver has, and that the simulated Volcano writes there to be part of it."""

from app.simulator.kinds import Kind

CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
MUTATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)

SIMULATED = {"pumice.dev/simulated": "true"}
"""The label of everything that the simulated Volcano puts into a foreign cluster."""
